import asyncio
import gc
import tracemalloc
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from support.engines import engine_of
from support.event_loop import awaited
from support.own_server import showing
from support.own_worker import SQUARE

from gradloupe.server.cache.answer_cache import AnswerCache
from gradloupe.server.cache.visitor import Visitor
from gradloupe.server.protocol.errors import EngineBusy
from gradloupe.server.protocol.frames import FRAME_PREFIX, pack, unpack
from gradloupe.server.protocol.question import Question
from gradloupe.server.url.address import default_address


async def stays() -> bool:
    return False


HERE, THERE = Visitor("192.0.2.1", stays), Visitor("192.0.2.2", stays)


@dataclass(frozen=True)
class Asking:
    """A cache in front of a worker, asked for one op."""

    answers: AnswerCache
    op: Any
    device: Any

    def __call__(self, visitor: Visitor = HERE, **changes: Any) -> Awaitable[Any]:
        """The answer to the first question of its page, with these changes."""
        return self.answers.of(self.op, self.device, self.question(**changes), visitor)

    def question(self, **changes: Any) -> Question:
        return replace(default_address(self.op).question, **changes)


@asynccontextmanager
async def asking(kept: int = 2**20, share: int = 0) -> AsyncIterator[tuple[Asking, AnswerCache]]:
    async with engine_of() as engine:
        answers = AnswerCache(engine, share, kept)
        yield Asking(answers, await engine.op("exp"), await engine.device()), answers


@awaited
async def test_the_end_of_work_that_nobody_waits_for_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    begun = asyncio.Event()

    async def work() -> None:
        try:
            begun.set()
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise EngineBusy from None

    with pytest.raises(EngineBusy):
        await Visitor("", begun.wait).waiting_for(work())
    gc.collect()
    assert caplog.records == []


@awaited
async def test_many_who_ask_the_same_at_once_are_one_question() -> None:
    async with asking() as (ask, answers):
        found = await asyncio.gather(*(ask() for _ in range(8)))
        assert (answers.asked, len({id(each) for each in found})) == (1, 1)
        await ask()
        assert (answers.asked, answers.hits) == (1, 1)


@awaited
async def test_a_visitor_has_a_share_of_the_questions_under_way_and_the_same_question_counts_once() -> None:
    async with asking(share=2) as (ask, answers):
        counts = 100, 101, 100, 102, 101
        found = await asyncio.gather(
            *(ask(count=each) for each in counts), ask(THERE, count=100), ask(THERE, count=103), return_exceptions=True
        )
        refused = [place for place, each in enumerate(found) if isinstance(each, EngineBusy)]
        assert refused == [counts.index(102)]
        assert "2 new questions" in str(found[refused[0]])
        assert (answers.asked, answers.shares.refused) == (3, 1)
        assert len((await ask(count=102)).columns["x"]) >= 102


@awaited
async def test_the_oldest_are_forgotten_when_there_is_no_more_room() -> None:
    async with asking(kept=100_000) as (ask, answers):
        for count in range(100, 110):
            await ask(count=count)
            assert answers.size <= 100_000
        await ask(count=109)
        assert answers.hits == 1
        await ask(count=100)
        assert answers.asked == 11


@awaited
async def test_a_page_does_not_wait_for_what_takes_long_and_the_next_finds_it() -> None:
    async with asking() as (ask, answers):
        slow = ask.op, ask.device, ask.question(count=5001), 0.0, HERE
        assert await answers.soon(*slow) is None
        found = await ask(count=5001)
        assert len(found.columns["x"]) >= 5001
        assert await answers.soon(*slow) is found
        assert answers.asked == 1


@pytest.mark.parametrize("view", ["curves", "contract", "step"])
@awaited
async def test_what_an_answer_takes_is_counted(view: str) -> None:
    async with asking() as (ask, answers):
        packed = pack(await ask(view=view))
        start = FRAME_PREFIX.size + FRAME_PREFIX.unpack_from(packed)[0]
        header, columns = packed[FRAME_PREFIX.size : start], packed[start:]
        tracemalloc.start()
        try:
            found = [unpack(header, columns) for _ in range(50)]  # the first ones may be made of what was free
            taken = tracemalloc.get_traced_memory()[0] / len(found) + len(columns)
        finally:
            tracemalloc.stop()
        assert answers.size == pytest.approx(taken, rel=0.2)


ONLY_HERE = SQUARE.replace("return x * x", "HERE == os.getpid() or os._exit(1)\n        return x * x")


def test_what_torch_compile_had_no_time_for_is_asked_again(tmp_path: Path) -> None:
    with showing(tmp_path, text=f"import os\n\nHERE = os.getpid()\n{ONLY_HERE}") as own:
        given_up = own.get("/ops/Square.json?view=contract&compile=true")
        (badge,) = [each for each in given_up.json()["badges"] if each["name"] == "compile"]
        assert badge["state"] == "unknown", badge
        assert given_up.headers["cache-control"] == "no-store"
        not_asked = own.get("/ops/Square.json?view=contract")
        assert not_asked.headers["cache-control"].startswith("public")
