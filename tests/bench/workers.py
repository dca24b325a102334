"""What worker processes cost and what they are worth: a new one, the way to it, several at once, 100 that are killed.

Alone, ``python tests/bench/workers.py 1 2 4 8`` prints new sections a second with so many workers.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from report import Report, Table, Target
from supervisor.test_killed_workers import CLIENTS, KILLS, SQUARE, Crowd, killed
from support.engines import engine_of, question_of

from gradloupe.ops import OPS
from gradloupe.server.protocol.question import Question
from gradloupe.server.supervisor import worker_process
from gradloupe.server.supervisor.engine import Engine
from gradloupe.server.supervisor.worker_process import usable_cores
from gradloupe.server.worker import answer

ROUNDS, QUESTIONS = 7, 200
SECTION, ASKING, RATE_SECONDS = 401, 2, 2.0
BUSY = os.getloadavg()[0]


def measure() -> Report:
    """The tables of starts, of the boundary and of kills."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "my_ops.py"
        file.write_text(SQUARE)
        started, ratio = _started(file)
        crossed, cost = _boundary()
        several, gain = side_by_side((1, 2))
        killed, lost = _killed(file)
    wanted = [
        Target("a copy greets in at most a quarter of the time", f"{ratio:.2f}", ratio <= 0.25),
        Target("a question through the door: at most 1.5 × in process", f"{cost:.2f}", cost <= 1.5),
        Target("with a worker for each of two cores: 1.8 × the sections", f"{gain:.2f}", gain >= 1.8),
        Target("100 killed workers: no answer lost or wrong", str(lost), lost == 0),
    ]
    return Report([started, crossed, several, killed], wanted)


def _started(file: Path) -> tuple[Table, float]:
    rows, ratios = [], []
    asyncio.run(_start_seconds())  # the first has to load torch
    for name, targets in (("gallery", ()), ("a file with one Function", (file,))):
        copied = median(asyncio.run(_start_seconds(*targets)) for _ in range(ROUNDS))
        worker_process.CAN_FORK = False
        alone = median(asyncio.run(_start_seconds(*targets)) for _ in range(ROUNDS))
        worker_process.CAN_FORK = True
        ratios.append(copied / alone)
        rows.append((name, f"{1e3 * copied:.0f} ms", f"{1e3 * alone:.0f} ms", f"**{copied / alone:.2f}**"))
    headings = ("what it serves", "copied", "started by itself", "copied / by itself")
    note = f"From the request for a worker to its greeting, medians of {ROUNDS}."
    return Table("A new worker", headings, rows, note), max(ratios)


async def _start_seconds(*targets: Path) -> float:
    began = time.perf_counter()
    async with engine_of(*targets) as engine:
        await engine.wait_ready()
        return time.perf_counter() - began


def _boundary() -> tuple[Table, float]:
    rows, ratios = [], []
    for points in (200, 1000, 5000):
        here, through = asyncio.run(_asked(points))
        ratios.append(through / here)
        rows.append((f"{points}", f"{1e3 * here:.2f} ms", f"{1e3 * through:.2f} ms", f"**{through / here:.2f}**"))
    headings = ("points of `exp`", "in process", "through the door", "ratio")
    note = f"From question to answer, with its columns, medians of {QUESTIONS} in turns."
    return Table("The boundary", headings, rows, note), max(ratios)


async def _asked(count: int) -> tuple[float, float]:
    async with engine_of() as engine:
        question = await question_of(engine, "exp", count=count)
        here, through = [], []
        for turn in range(QUESTIONS):
            changed = replace(question, grad_output=1 + turn / 1024)
            here.append(_in_process(changed))
            through.append(await _by_worker(engine, changed))
        return median(here), median(through)


def _in_process(question: Question) -> float:
    began = time.perf_counter()
    answer.answer_question(question, OPS["exp"])
    return time.perf_counter() - began


async def _by_worker(engine: Engine, question: Question) -> float:
    began = time.perf_counter()
    await engine.answer(question)
    return time.perf_counter() - began


def side_by_side(counts: Sequence[int]) -> tuple[Table, float]:
    """New sections a second with so many workers, in turns, and how many times those of one they are with the most."""
    rates: dict[int, list[float]] = {workers: [] for workers in counts}
    costs: dict[int, float] = {}
    for _ in range(ROUNDS):
        for workers in counts:
            rate, costs[workers] = asyncio.run(_rate(workers))
            rates[workers].append(rate)
    one = median(rates[counts[0]])
    rows = [
        (f"{workers}", f"{median(each):.0f}", f"**{median(each) / one:.2f}**", f"{min(each):.0f} - {max(each):.0f}")
        for workers, each in rates.items()
    ]
    headings = ("workers", "new sections a second", f"× {counts[0]}", "of all rounds")
    note = (
        f"Sections of {SECTION} points of `exp` that nobody has asked for, {ASKING} at once a worker, medians of "
        f"{ROUNDS} rounds in turns. The engine that asks, {costs[counts[-1]]:.0%} of a core with the most workers, "
        f"shares the {usable_cores()} cores with them; no page is made. Load of the machine before: {BUSY:.1f}."
    )
    return Table("Workers side by side", headings, rows, note), median(rates[counts[-1]]) / one


async def _rate(workers: int) -> tuple[float, float]:
    """Sections a second, and the share of a core that this process takes for that."""
    async with engine_of(workers=workers) as engine:
        question = await question_of(engine, "exp", count=SECTION)
        while len(engine.workers) < workers:
            await engine.answer(question)
        numbers = count(2)
        await asyncio.gather(*(_ask(engine, question, numbers, 0.5) for _ in range(ASKING * workers)))  # all are there
        began, cpu = time.perf_counter(), time.process_time()
        answered = await asyncio.gather(
            *(_ask(engine, question, numbers, RATE_SECONDS) for _ in range(ASKING * workers))
        )
        took = time.perf_counter() - began
        return sum(answered) / took, (time.process_time() - cpu) / took


async def _ask(engine: Engine, question: Question, numbers: Iterator[int], seconds: float) -> int:
    """How many questions one asks in so many seconds, each when the last is answered."""
    until, asked = time.perf_counter() + seconds, 0
    while time.perf_counter() < until:
        answer = await engine.answer(replace(question, grad_output=1 + next(numbers) / 2**20))
        assert answer.header["failure"] is None
        asked += 1
    return asked


def _killed(file: Path) -> tuple[Table, int]:
    rows, lost = [], 0
    for name, targets, op in (("gallery", (), "square"), ("a file with one Function", (file,), "Square")):
        began = time.perf_counter()
        crowd = asyncio.run(_crowd(op, *targets))
        lost += len(crowd.wrong)
        answered = str(crowd.right + len(crowd.wrong))
        rows.append((name, answered, str(len(crowd.wrong)), f"{time.perf_counter() - began:.0f} s"))
    headings = ("what it serves", "answers", "lost or wrong", "in")
    note = f"{KILLS} workers are killed while {CLIENTS} clients ask; every answer is checked."
    return Table("Killed workers", headings, rows, note), lost


async def _crowd(op: str, *targets: Path) -> Crowd:
    async with engine_of(*targets) as engine:
        return await killed(engine, op, KILLS, forkservers=False)


if __name__ == "__main__":
    print(side_by_side([int(each) for each in sys.argv[1:]] or [1, 2, 4, 8])[0].markdown())
