"""Examines all Functions of the targets, in several workers; a crash costs only the Function that caused it."""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ..protocol.errors import EngineBroken
from ..protocol.job import Job
from ..protocol.load_error import load_error
from ..supervisor.engine import Engine
from ..supervisor.worker_process import WorkerProcess
from .allowlist import UnknownAllowance, check_ids, parse_allowlist
from .examine import examine_function
from .report_data import ExaminedFunction, Report


async def examine_targets(
    process: WorkerProcess,
    allowed: Collection[str],
    tell: ProgressCallback,
    drawn: bool,
    found: dict[int, ExaminedFunction],
) -> Report:
    """The report on all targets; if they do not load together, on those that load, with the load errors of the rest.

    Raises ``UnknownAllowance``.
    """
    together = await examine_all(process, allowed, tell, drawn, found)
    work = process.work
    if not together.troubles or together.found or len(work.targets) == 1:
        return together
    whys = {target: await _why(replace(work, targets=(target,))) for target in work.targets}
    good = tuple(target for target, why in whys.items() if why is None)
    troubles = tuple({"target": target} | why for target, why in whys.items() if why is not None)
    if not troubles:  # each can be loaded, but not together
        return together
    if not good:
        return replace(together, troubles=troubles)
    try:
        rest = await examine_all(WorkerProcess(replace(work, targets=good)), allowed, tell, drawn, found)
    except (UnknownAllowance, OSError):  # an allowed name may be in a target that cannot be loaded
        return replace(together, troubles=troubles)
    return replace(rest, targets=work.targets, troubles=(*troubles, *rest.troubles))


async def _why(work: Job) -> dict[str, Any] | None:
    """The load error of a target, None if it can be loaded."""
    try:
        engine = Engine.spawn(work)
    except OSError as refused:
        return load_error(f"No worker process can be started: {refused}.")
    await engine.connect()
    try:
        await engine.catalogue()
    except EngineBroken as broken:
        return engine.trouble or load_error(str(broken))
    finally:
        await engine.close()
    return None


# Functions for each worker, the most workers, and the free bytes that each must have.
_SHARE, _MOST, _ROOM = 8, 4, 2**30
ProgressCallback = Callable[[int, int, str], None]


async def examine_all(
    process: WorkerProcess,
    allowed: Collection[str],
    tell: ProgressCallback,
    drawn: bool = True,
    found: dict[int, ExaminedFunction] | None = None,
) -> Report:
    """The report on the Functions that ``process`` imports; ``tell`` gets the number done, their total, the next name.

    Curves are kept only if they are ``drawn``. ``found`` is filled as results come, for callers that are interrupted.
    Raises ``UnknownAllowance``.
    """
    began, targets, found = time.monotonic(), process.work.targets, {} if found is None else found
    engine = Engine(process)
    await engine.connect()
    try:
        names = list(await engine.catalogue())
        queue = ExaminationQueue(deque(enumerate(names)), parse_allowlist(allowed, names), tell, drawn, found)
        await _by_all(engine, queue, helper_count(len(names)))
        device = await engine.device()
        seconds = time.monotonic() - began
        kind = next(each["name"] for each in device["devices"] if each["kind"] == device["auto"])
        notes = tuple(engine.notes)
        return Report(targets, in_order(found), (), device["torch"], kind, seconds, notes=notes)
    except EngineBroken as broken:
        why = engine.trouble or load_error(str(broken))
        return Report(targets, in_order(found), (why,), seconds=time.monotonic() - began)
    finally:
        await engine.close()


@dataclass
class ExaminationQueue:
    """The Functions still to be examined, each with its index, and the results of the others."""

    waiting: deque[tuple[int, str]]
    allowed: Mapping[str, frozenset[str]]
    tell: ProgressCallback
    drawn: bool
    found: dict[int, ExaminedFunction]

    async def serve(self, engine: Engine) -> None:
        """Examine one after the other until none is left; raises ``EngineBroken`` and ``UnknownAllowance``."""
        while self.waiting:
            number, name = self.waiting.popleft()
            self.tell(len(self.found), len(self.allowed), name)
            try:
                found = await examine_function(engine, name, self.allowed[name])
            except BaseException:
                self.waiting.appendleft((number, name))
                raise
            check_ids(found.checked, self.allowed[name])
            self.found[number] = found if self.drawn else replace(found, curves=None)


async def _by_all(engine: Engine, queue: ExaminationQueue, more: int) -> None:
    """Have an engine and ``more`` like it examine the queue."""
    catalogue = await engine.catalogue()
    tasks = [asyncio.create_task(_helped(engine.work, catalogue, queue)) for _ in range(more)]
    try:
        await queue.serve(engine)
        await asyncio.gather(*tasks)
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    await queue.serve(engine)  # Functions that a failed helper has put back


async def _helped(work: Job, catalogue: dict[str, Any], queue: ExaminationQueue) -> None:
    """Examine with a further worker, unless that fails or has loaded something else: the file may have changed."""
    with suppress(OSError, EngineBroken):
        engine = Engine.spawn(work)
        await engine.connect()
        try:
            if await engine.catalogue() == catalogue:
                await queue.serve(engine)
        finally:
            await engine.close()


def in_order(found: Mapping[int, ExaminedFunction]) -> tuple[ExaminedFunction, ...]:
    """The results in the order of the files."""
    return tuple(found[number] for number in sorted(found))


def helper_count(count: int) -> int:
    """How many workers to use for ``count`` Functions, beside the first."""
    if count <= _SHARE:
        return 0
    import psutil  # imported late: not needed for a few

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(0, min(cores, _MOST, -(-count // _SHARE), psutil.virtual_memory().available // _ROOM) - 1)
