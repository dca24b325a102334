"""What worker processes cost and what they are worth: a new one, the way to it and back, and 100 that are killed."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from report import Report, Table, Target
from supervisor.test_killed_workers import CLIENTS, KILLS, SQUARE, Crowd, killed
from support.engines import engine_of, question_of

from gradloupe.ops import OPS
from gradloupe.server.protocol import Question
from gradloupe.server.supervisor import worker_process
from gradloupe.server.supervisor.engine import Engine
from gradloupe.server.worker import answer

ROUNDS, QUESTIONS = 7, 200


def measure() -> Report:
    """The tables of starts, of the boundary and of kills."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "my_ops.py"
        file.write_text(SQUARE)
        started, ratio = _started(file)
        crossed, cost = _boundary()
        killed, lost = _killed(file)
    wanted = [
        Target("a copy greets in at most a quarter of the time", f"{ratio:.2f}", ratio <= 0.25),
        Target("a question through the door: at most 1.5 × in process", f"{cost:.2f}", cost <= 1.5),
        Target("100 killed workers: no answer lost or wrong", str(lost), lost == 0),
    ]
    return Report([started, crossed, killed], wanted)


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
    for count in (200, 1000, 5000):
        here, through = asyncio.run(_asked(count))
        ratios.append(through / here)
        rows.append((f"{count}", f"{1e3 * here:.2f} ms", f"{1e3 * through:.2f} ms", f"**{through / here:.2f}**"))
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
