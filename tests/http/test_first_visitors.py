"""The first visitors of a server: a class that opens its pages at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from threading import current_thread

from support.own_server import showing
from support.waiting import until

from gradloupe.server.html.op_markup import MARKUP_LIBRARIES

ADDRESSES = (
    *("/", "/?q=ste", "/docs", "/glossary", "/lessons", "/lessons/backward", "/embed/lessons/backward"),
    *("/openapi.json", "/metrics", "/oembed?url=http://localhost/ops/exp", "/grad-loupe.js", "/own", "/nothing"),
    *("/ops/exp", "/ops/exp?view=node", "/ops/exp?view=contract", "/ops/exp?start=k", "/embed/exp", "/ops/none"),
    *(f"/ops/exp.{ending}" for ending in ("json", "page.json", "csv", "py", "svg", "png", "pdf", "html", "size.json")),
    *("/compare", "/compare?left=exp&right=cube", "/compare?left=Clamp&right=exp"),
    *("/compare.json?left=exp&right=cube", "/compare.svg?left=exp&right=cube"),
    *("/ops/Clamp", "/ops/Configured", "/embed/Clamp", "/ops/Clamp?view=node"),
)
ALONE = ("MainThread", "server")  # that of the test, and that of the event loop


def imported_by_visitors(folder: Path) -> list[str]:
    """What is imported in the threads that make pages, when all ``ADDRESSES`` are visited on a prepared server."""
    imported: list[str] = []

    class Witness:
        def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> None:
            if current_thread().name not in ALONE:
                imported.append(name)

    with showing(folder) as server:
        assert until(lambda: sys.modules.keys() >= set(MARKUP_LIBRARIES))
        sys.meta_path.insert(0, Witness())
        for address in ADDRESSES:
            assert server.get(address).status_code < 500, address
    return imported


def test_no_visitor_imports_a_library_beside_another(tmp_path: Path) -> None:
    """Two threads that import at once get half of a library that replaces its own module."""
    with ProcessPoolExecutor(1, get_context("spawn")) as fresh:
        assert fresh.submit(imported_by_visitors, tmp_path).result() == []
