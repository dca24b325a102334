import asyncio
import os
import random
import signal
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.engines import engine_of, kill_forkservers, question_of
from support.event_loop import awaited
from support.own_worker import SQUARE

from gradloupe.server.protocol.errors import EngineBusy
from gradloupe.server.protocol.frames import Frame
from gradloupe.server.protocol.question import Element, Question
from gradloupe.server.supervisor.engine import Engine

KILLS, CLIENTS = 8, 4  # a sample: each kill comes at another moment of a question


class Crowd:
    """Clients that ask until they are told to stop, and the fault of each answer, which is to be none."""

    def __init__(self, engine: Engine, question: Question) -> None:
        self.engine, self.question = engine, question
        self.stop = False
        self.faults: list[str] = []
        self._news = asyncio.Condition()

    async def client(self, seed: int) -> None:
        chance = random.Random(seed)
        while not self.stop:
            asked = replace(self.question, count=chance.randrange(50, 900), grad_output=chance.uniform(-3, 3))
            fault = _fault(asked, await self.engine.answer(asked))
            async with self._news:
                self.faults.append(fault)
                self._news.notify_all()

    async def one_more(self) -> None:
        """Return when another answer has come."""
        before = len(self.faults)
        async with self._news:
            await self._news.wait_for(lambda: len(self.faults) > before)


def _fault(asked: Question, frame: Frame) -> str:
    """What is wrong with the answer to a question about the square; nothing, as it should be."""
    if frame.header["failure"] is not None:
        return str(frame.header["failure"]["sentence"])
    x, y, slope = (np.frombuffer(frame.columns[name]) for name in ("x", "forward", "analytical"))
    if not (np.allclose(y, x * x, 1e-12, 0) and np.allclose(slope, 2 * x * asked.grad_output, 1e-12, 0)):
        return "other numbers"
    return "" if len(x) >= asked.count else f"{len(x)} points of {asked.count}"


async def killed(engine: Engine, name: str, kills: int, forkservers: bool) -> Crowd:
    """A crowd that has asked the engine while so many of its workers were killed, and what they are copies of."""
    chance = random.Random(kills)
    crowd = Crowd(engine, await question_of(engine, name))
    async with asyncio.TaskGroup() as clients:  # whose first fault ends the test, with its cause
        for seed in range(CLIENTS):
            clients.create_task(crowd.client(seed))
        for _ in range(kills):
            await crowd.one_more()
            for _ in range(chance.randrange(30)):  # in the middle of the next question, or before it
                await asyncio.sleep(0)
            while not (workers := engine.workers):  # the answer was the last one of a worker that is being replaced
                await crowd.one_more()
            restarts = engine.restarts
            if forkservers:
                kill_forkservers()
            with suppress(ProcessLookupError):
                os.kill(chance.choice(workers), signal.SIGKILL)
            while engine.restarts == restarts:
                await crowd.one_more()
        crowd.stop = True
    return crowd


@pytest.mark.parametrize(
    ("own", "kills", "forkservers"),
    [
        (True, KILLS, False),
        pytest.param(False, KILLS, False, marks=pytest.mark.nightly),
        pytest.param(True, 3, True, marks=pytest.mark.nightly),
    ],
)
@awaited
async def test_no_answer_is_lost_or_wrong_however_many_workers_are_killed(
    tmp_path: Path, own: bool, kills: int, forkservers: bool
) -> None:
    file = tmp_path / "my_ops.py"
    file.write_text(SQUARE)
    async with engine_of(*[file] * own) as engine:
        crowd = await killed(engine, "Square" if own else "square", kills, forkservers)
        assert {*crowd.faults} == {""}
        assert len(crowd.faults) > kills
        assert engine.restarts >= kills


@awaited
async def test_a_worker_that_is_ended_because_nobody_waits_is_none_that_was_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "my_ops.py").write_text(SQUARE.replace("return x * x", "while True: pass"))
    async with engine_of(tmp_path / "my_ops.py") as engine:
        await engine.catalogue()
        asking = asyncio.create_task(engine.answer(Question("Square", Element("x"), Element("y"), -1.0, 1.0)))
        for _ in range(30):  # until it is asked
            await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(EngineBusy):
            await asking
        await engine.wait_ready()
        assert engine.restarts == 1
    assert caplog.records == []
