"""The small curves of the gallery: one that cannot be drawn spoils neither the others nor its own next time."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from support import event_loop
from support.servers import serving

from gradloupe.server.cache import ThumbnailCache
from gradloupe.server.supervisor.engine import Engine

MARK = re.compile(r'<p class="word">.*?#mark-([\w-]+)')
FAULT = """

_without_fault = answer_question


def answer_question(question, op):
    if op.name == "exp":
        raise RuntimeError("a fault of Gradloupe's own")
    return _without_fault(question, op)
"""


def test_a_fault_of_ours_costs_one_card_its_curves_and_no_more(package_copy: Path) -> None:
    with (package_copy / "server" / "worker" / "answer.py").open("a") as file:
        file.write(FAULT)
    with (
        (package_copy / "log").open("w") as log,
        serving(path=str(package_copy.parent), cwd=package_copy.parent, log=log) as server,
    ):
        server.wait_until_ready()
        gallery = server.get("/")
    assert "a fault of Gradloupe's own" in (package_copy / "log").read_text()
    assert gallery.status_code == 200
    cards = {re.search(r'href="/ops/(\w+)"', card)[1]: card for card in gallery.text.split('<li class="card"')[1:]}
    assert "#mark-failed" in cards["exp"]
    raising = {"gradient_none_added", "one_gradient_too_few"}
    assert {name for name, card in cards.items() if "#mark-failed" in card} == {"exp", *raising}
    assert "#mark-matches" in cards["square"]


def few(package_copy: Path) -> None:
    """Leave two ops."""
    for path in (package_copy / "ops").glob("*.py"):
        if path.stem not in ("__init__", "op", "abs_product", "exp"):
            path.unlink()


def test_a_function_that_hangs_holds_up_no_other_card(package_copy: Path) -> None:
    few(package_copy)
    text = (package_copy / "ops" / "exp.py").read_text()
    endless = "        while x.numel() > 1:\n            pass\n        y = x.exp()\n"
    (package_copy / "ops" / "hangs.py").write_text(text.replace("        y = x.exp()\n", endless))
    with serving("--deadline", "4", path=str(package_copy.parent), cwd=package_copy.parent) as server:
        server.wait_until_ready()
        first = server.get("/")
        server.get("/ops/exp.json")  # it is answered after what was asked before
        second = server.get("/")
    assert first.headers["cache-control"] == "no-store"
    assert MARK.findall(first.text) == ["matches", "matches", "measuring"]
    assert 'id="mark-measuring"' in first.text
    assert "etag" in second.headers
    assert MARK.findall(second.text) == ["matches", "matches", "failed"]


@pytest.mark.parametrize(("patience", "word"), [(0.0, "matches"), (3600.0, "failed")])
def test_the_loss_of_a_worker_is_held_against_an_op_only_for_a_while(
    package_copy: Path, monkeypatch: pytest.MonkeyPatch, patience: float, word: str
) -> None:
    few(package_copy)
    exp, poison = package_copy / "ops" / "exp.py", package_copy.parent / "poison"
    deadly = f"        if x.numel() > 1 and os.path.exists({str(poison)!r}):\n            os._exit(3)\n"
    exp.write_text("import os\n\n" + exp.read_text().replace("        y = x.exp()\n", f"{deadly}        y = x.exp()\n"))
    monkeypatch.setenv("PYTHONPATH", str(package_copy.parent))
    assert event_loop.run(_words(poison, patience)) == ["failed", word]


async def _words(poison: Path, patience: float) -> list[str]:
    """The word of ``exp`` while the poison is there, and after."""
    engine = Engine.spawn()
    thumbnails = ThumbnailCache(engine, patience, following=60.0)
    await engine.connect()
    try:
        ops = await engine.catalogue()
        await asyncio.to_thread(poison.touch)
        first = await thumbnails.of(ops)
        await asyncio.to_thread(poison.unlink)
        second = await thumbnails.of(ops)
    finally:
        await engine.close()
    assert {drawn["abs_product"]["word"] for drawn in (first, second)} == {"matches"}
    return [first["exp"]["word"], second["exp"]["word"]]
