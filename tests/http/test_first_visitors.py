"""The first visitors of a server: a class that opens its pages at once."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from threading import current_thread

from support.halted_worker import crowded, halted, metric, wait_for
from support.own_server import showing
from support.raw_http import connected, read, send
from support.servers import serving_in_thread
from support.waiting import until

from gradloupe.server.html.op_markup import MARKUP_LIBRARIES
from gradloupe.server.html.pages import Pages

ADDRESSES = (
    *("/", "/?q=ste", "/docs", "/glossary", "/lessons", "/lessons/backward", "/embed/lessons/backward"),
    *("/openapi.json", "/metrics", "/oembed?url=http://localhost/ops/exp", "/grad-loupe.js", "/own", "/nothing"),
    *("/ops/exp", "/ops/exp?view=node", "/ops/exp?view=contract", "/ops/exp?start=k", "/embed/exp", "/ops/none"),
    *(f"/ops/exp.{ending}" for ending in ("json", "page.json", "csv", "py", "svg", "png", "pdf", "html", "size.json")),
    *("/compare", "/compare?left=exp&right=cube", "/compare?left=Clamp&right=exp"),
    *("/compare.json?left=exp&right=cube", "/compare.svg?left=exp&right=cube"),
    *("/ops/Clamp", "/ops/Configured", "/embed/Clamp", "/ops/Clamp?view=node"),
)
UNHURRIED = ("--deadline", "300")
ALONE = ("MainThread", "server")  # that of the test, and that of the event loop


def imported_by_visitors(folder: Path) -> list[str]:
    """What is imported in the threads that make pages, when all ``ADDRESSES`` are visited on a prepared server."""
    imported: list[str] = []

    class Witness:
        def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> None:
            if current_thread().name not in ALONE:
                imported.append(name)

    with showing(folder, *UNHURRIED) as server:
        assert until(lambda: sys.modules.keys() >= set(MARKUP_LIBRARIES))
        Pages.shared().prepare()  # ends no earlier than what the server imports meanwhile
        sys.meta_path.insert(0, Witness())
        for address in ADDRESSES:
            assert server.get(address).status_code < 500, address
    return imported


def test_no_visitor_imports_a_library_beside_another(tmp_path: Path) -> None:
    """Two threads that import at once get half of a library that replaces its own module."""
    with ProcessPoolExecutor(1, get_context("spawn")) as fresh:
        assert fresh.submit(imported_by_visitors, tmp_path).result() == []


def test_a_class_behind_one_address_asks_each_question_once_and_loses_nothing() -> None:
    with serving_in_thread("--requests-per-peer", "2", *UNHURRIED) as server, ExitStack() as stack:
        server.wait_until_ready()
        pupils = [stack.enter_context(connected(server)) for _ in range(40)]
        with halted(server):
            for place, pupil in enumerate(pupils):
                send(pupil, "/ops/" + ("exp.json", "cube.json")[place % 2])
            wait_for(server, 2)
            assert metric(server, "waiting") == 2
            refused = server.get("/ops/double.json")
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert "2 new questions" in refused.json()["detail"]
            page = server.get("/embed/double")
            assert page.status_code == 200  # without curves, which its script asks for
            (script,) = set(re.findall(r'"(/static/[^"]+/pages/embed\.js)"', page.text))
            assert server.get(script).status_code == 200
            assert metric(server, "refused_total") == 2
        assert [read(pupil)[0] for pupil in pupils] == [200] * 40
        assert server.get("/ops/double.json").status_code == 200


def test_a_page_of_a_busy_server_asks_again_by_itself_where_a_figure_may_stand(tmp_path: Path) -> None:
    shown = ("--frame-ancestors", "https://moodle.example.org")
    with showing(tmp_path, *shown, "--requests-per-peer", "0", *UNHURRIED) as own:
        assert own.get("/ops/Clamp.json").status_code == 200
        with crowded(own, "Clamp"):
            figure, page = own.get("/embed/Cube"), own.get("/ops/Cube")
            for busy in (figure, page):
                assert (busy.status_code, busy.headers["retry-after"]) == (503, "1")
                assert busy.headers["content-type"] == "text/html; charset=utf-8"
                assert 'data-address=""' in busy.text
            assert own.get("/ops/Cube.json").json()["status"] == 503
        ready = own.get("/embed/Cube")
        for name in ("content-security-policy", "cross-origin-resource-policy"):
            assert figure.headers[name] == ready.headers[name]
        assert "moodle.example.org" in figure.headers["content-security-policy"]


def test_the_gallery_is_there_while_no_more_questions_can_wait() -> None:
    with serving_in_thread("--requests-per-peer", "0", *UNHURRIED) as server:
        server.wait_until_ready()
        with crowded(server, "exp"):
            gallery = server.get("/")
            assert (gallery.status_code, gallery.headers["cache-control"]) == (200, "no-store")
            assert server.get("/healthz?wait=1").json() == {"status": "ready"}


def test_a_function_is_described_once_for_all_who_open_it(tmp_path: Path) -> None:
    with showing(tmp_path, *UNHURRIED) as own, ExitStack() as stack:
        tabs = [stack.enter_context(connected(own)) for _ in range(8)]
        with halted(own):
            for tab in tabs:
                send(tab, "/ops/Cube.json")
            wait_for(own, 1)
            assert own.get("/own").status_code < 400  # they have all been read by now
            assert metric(own, "waiting") == 1
        assert [read(tab)[0] for tab in tabs] == [200] * 8


def test_pages_that_follow_a_file_are_counted_apart_and_one_too_many_is_told(tmp_path: Path) -> None:
    with showing(tmp_path, "--requests-per-peer", "2") as own, ExitStack() as stack:
        for _ in range(2):
            page = stack.enter_context(connected(own))
            send(page, "/events")
            assert page.recv(1)
        refused = own.get("/events")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert "2 open pages" in refused.json()["detail"]
        assert own.get("/ops/Clamp").status_code == 200
