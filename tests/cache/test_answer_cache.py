"""Answers are asked for once, and kept."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import event_loop
from support.own_server import showing

from gradloupe.server.cache import AnswerCache, Visitor
from gradloupe.server.protocol.errors import EngineBusy
from gradloupe.server.protocol.frames import FRAME_PREFIX, pack, unpack
from gradloupe.server.protocol.question import Question
from gradloupe.server.supervisor.engine import Engine
from gradloupe.server.url import default_address

Op = dict[str, Any]


async def stays() -> bool:
    return False


HERE, THERE = Visitor("192.0.2.1", stays), Visitor("192.0.2.2", stays)
Run = Callable[[AnswerCache, Op, dict[str, Any], Question], Awaitable[None]]


def with_answers(run: Run, kept: int = 2**20, share: int = 0) -> None:
    async def main() -> None:
        engine = Engine.spawn()
        await engine.connect()
        try:
            op, device = (await engine.catalogue())["exp"], await engine.device()
            await run(AnswerCache(engine, share, kept), op, device, default_address(op).question)
        finally:
            await engine.close()

    event_loop.run(main())


def test_many_who_ask_the_same_at_once_are_one_question() -> None:
    async def run(answers: AnswerCache, op: Op, device: dict[str, Any], asked: Question) -> None:
        found = await asyncio.gather(*(answers.of(op, device, asked, HERE) for _ in range(8)))
        assert (answers.asked, len({id(each) for each in found})) == (1, 1)
        await answers.of(op, device, asked, HERE)
        assert (answers.asked, answers.hits) == (1, 1)

    with_answers(run)


def test_a_visitor_has_a_share_of_the_questions_under_way_and_the_same_question_counts_once() -> None:
    async def run(answers: AnswerCache, op: Op, device: dict[str, Any], asked: Question) -> None:
        counts = 100, 101, 100, 102, 101
        questions = [replace(asked, count=count) for count in counts]
        found = await asyncio.gather(
            *(answers.of(op, device, each, HERE) for each in questions),
            answers.of(op, device, questions[0], THERE),
            answers.of(op, device, replace(asked, count=103), THERE),
            return_exceptions=True,
        )
        refused = [place for place, each in enumerate(found) if isinstance(each, EngineBusy)]
        assert refused == [counts.index(102)]
        assert "2 new questions" in str(found[refused[0]])
        assert (answers.asked, answers.shares.refused) == (3, 1)
        assert len((await answers.of(op, device, questions[3], HERE)).columns["x"]) >= 102

    with_answers(run, share=2)


def test_the_oldest_are_forgotten_when_there_is_no_more_room() -> None:
    async def run(answers: AnswerCache, op: Op, device: dict[str, Any], asked: Question) -> None:
        for count in range(100, 110):
            await answers.of(op, device, replace(asked, count=count), HERE)
            assert answers.size <= 100_000
        await answers.of(op, device, replace(asked, count=109), HERE)
        assert answers.hits == 1
        await answers.of(op, device, replace(asked, count=100), HERE)
        assert answers.asked == 11

    with_answers(run, kept=100_000)


def test_a_page_does_not_wait_for_what_takes_long_and_the_next_finds_it() -> None:
    async def run(answers: AnswerCache, op: Op, device: dict[str, Any], asked: Question) -> None:
        slow = replace(asked, count=5001)
        assert await answers.soon(op, device, slow, 0.0, HERE) is None
        found = await answers.of(op, device, slow, HERE)
        assert len(found.columns["x"]) >= 5001
        assert await answers.soon(op, device, slow, 0.0, HERE) is found
        assert answers.asked == 1

    with_answers(run)


@pytest.mark.parametrize("view", ["curves", "contract", "step"])
def test_what_an_answer_takes_is_counted(view: str) -> None:
    async def run(answers: AnswerCache, op: Op, device: dict[str, Any], asked: Question) -> None:
        packed = pack(await answers.of(op, device, replace(asked, view=view), HERE))
        start = FRAME_PREFIX.size + FRAME_PREFIX.unpack_from(packed)[0]
        header, columns = packed[FRAME_PREFIX.size : start], packed[start:]
        tracemalloc.start()
        try:
            found = [unpack(header, columns) for _ in range(50)]  # the first ones may be made of what was free
            taken = tracemalloc.get_traced_memory()[0] / len(found) + len(columns)
        finally:
            tracemalloc.stop()
        assert answers.size == pytest.approx(taken, rel=0.2)

    with_answers(run)


ONLY_HERE = """import os

import torch
from torch.autograd import Function

HERE = os.getpid()


class OnlyHere(Function):
    @staticmethod
    def forward(ctx, x):
        if os.getpid() != HERE:
            os._exit(1)
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output
"""


def test_what_torch_compile_had_no_time_for_is_asked_again(tmp_path: Path) -> None:
    with showing(tmp_path, text=ONLY_HERE) as own:
        given_up = own.get("/ops/OnlyHere.json?view=contract&compile=true")
        (badge,) = [each for each in given_up.json()["badges"] if each["name"] == "compile"]
        assert badge["state"] == "unknown", badge
        assert given_up.headers["cache-control"] == "no-store"
        not_asked = own.get("/ops/OnlyHere.json?view=contract")
        assert not_asked.headers["cache-control"].startswith("public")
