"""The small curves of the gallery: one that cannot be drawn spoils neither the others nor its own next time."""

import re
from pathlib import Path

import pytest
from support.engines import engine_of
from support.event_loop import awaited
from support.halted_worker import halted
from support.own_worker import SQUARE
from support.servers import serving_in_thread

from gradloupe.server.cache.thumbnails import ThumbnailCache

RECIPE = "Gradloupe: x: float64[]"
DOING = SQUARE.replace("The square of each element.", RECIPE).replace("import torch", "import os, torch")
FAULT = """

from gradloupe.server.worker import answer

_without_fault = answer.answer_question


def answer_question(question, op):
    if question.op == "Faulty":
        raise RuntimeError("a fault of Gradloupe's own")
    return _without_fault(question, op)


answer.answer_question = answer_question
"""


def doing(name: str, deed: str, now: Path) -> str:
    """A square that does something else as soon as there is this file."""
    happens = f"if os.path.exists({str(now)!r}):\n            {deed}\n        return x * x"
    return DOING.replace("Square", name).replace("return x * x", happens)


def words(page: str) -> dict[str, str]:
    """The word on each card of the gallery."""
    card = r'href="/ops/(\w+)".*?<p class="word">.*?#mark-([\w-]+)'
    return dict(found.groups() for each in page.split("<li") if (found := re.search(card, each, re.DOTALL)))


@awaited
async def test_neither_a_fault_of_ours_nor_a_function_that_hangs_costs_another_card_its_curves(tmp_path: Path) -> None:
    file, now = tmp_path / "my_ops.py", tmp_path / "now"
    file.write_text(doing("Hangs", "while True: pass", now) + SQUARE.replace("Square", "Faulty") + SQUARE + FAULT)
    async with engine_of(file, deadline=1.0) as engine:
        soon, later, ops = (
            ThumbnailCache(engine, following=0.1),
            ThumbnailCache(engine, following=60.0),
            await engine.catalogue(),
        )
        await engine.op("Hangs")
        now.touch()
        assert (await soon.of(ops))["Hangs"]["word"] == "measuring"  # the page does not wait for it
        await soon.close()
        found = {name: drawn["word"] for name, drawn in (await later.of(ops)).items()}
    assert found == {"Hangs": "failed", "Faulty": "failed", "Square": "matches"}


def test_a_gallery_that_is_not_measured_yet_is_not_kept() -> None:
    with serving_in_thread() as server:
        server.wait_until_ready()
        with halted(server):
            page = server.get("/")
    assert {*words(page.text).values()} == {"measuring"}
    assert page.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(("patience", "word"), [(0.0, "matches"), (3600.0, "failed")])
@awaited
async def test_the_loss_of_a_worker_is_held_against_an_op_only_for_a_while(
    tmp_path: Path, patience: float, word: str
) -> None:
    file, poison = tmp_path / "my_ops.py", tmp_path / "poison"
    file.write_text(doing("Poisoned", "os._exit(3)", poison) + SQUARE)
    async with engine_of(file) as engine:
        thumbnails, ops = ThumbnailCache(engine, patience, following=60.0), await engine.catalogue()
        await engine.op("Poisoned")
        poison.touch()
        first = await thumbnails.of(ops)
        poison.unlink()
        second = await thumbnails.of(ops)
    assert {drawn["Square"]["word"] for drawn in (first, second)} == {"matches"}
    assert [drawn["Poisoned"]["word"] for drawn in (first, second)] == ["failed", word]
