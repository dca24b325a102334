"""Examines all Functions of the targets, in several workers; a crash costs only the Function that caused it."""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ..protocol.errors import EngineBroken
from ..protocol.job import Job
from ..protocol.load_error import load_error
from ..supervisor.engine import Engine
from ..supervisor.worker_process import WorkerProcess
from .examine import examine_function
from .result import DEFAULT_ID, DIFFERENCE_IDS, REMARK_ID, VERDICT_ID, CheckResult, ExaminedFunction, Report

_SHARE, _MAX_WORKERS, _WORKER_BYTES = 8, 4, 2**30  # Functions for each worker, and free bytes that each must have
_MAX_NAMED = 20
ProgressCallback = Callable[[int, int, str], None]


async def examine_targets(
    process: WorkerProcess,
    allowed: Collection[str],
    tell: ProgressCallback,
    drawn: bool,
    results: dict[int, ExaminedFunction],
    strict: bool = False,
) -> Report:
    """The report on all targets; if they do not load together, on those that load, with the load errors of the rest.

    ``strict`` makes failures of warnings. Raises ``UnknownAllowance``.
    """
    together = await examine_all(process, allowed, tell, drawn, results, strict)
    job = process.job
    if not together.troubles or together.found or len(job.targets) == 1:
        return together
    errors = {target: await _load_error_of(replace(job, targets=(target,))) for target in job.targets}
    good = tuple(target for target, error in errors.items() if error is None)
    troubles = tuple({"target": target} | error for target, error in errors.items() if error is not None)
    if not troubles:  # each can be loaded, but not together
        return together
    if not good:
        return replace(together, troubles=troubles)
    try:
        others = await examine_all(WorkerProcess(replace(job, targets=good)), allowed, tell, drawn, results, strict)
    except (UnknownAllowance, OSError):  # an allowed name may be in a target that cannot be loaded
        return replace(together, troubles=troubles)
    return replace(others, targets=job.targets, troubles=(*troubles, *others.troubles))


async def _load_error_of(job: Job) -> dict[str, Any] | None:
    """The load error of a target, None if it can be loaded."""
    try:
        engine = Engine.spawn(job)
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


async def examine_all(
    process: WorkerProcess,
    allowed: Collection[str],
    tell: ProgressCallback,
    drawn: bool = True,
    results: dict[int, ExaminedFunction] | None = None,
    strict: bool = False,
) -> Report:
    """The report on the Functions that ``process`` imports; ``tell`` gets the number done, their total, the next name.

    Curves are kept only if they are ``drawn``. ``found`` is filled as results come, for callers that are interrupted.
    Raises ``UnknownAllowance``.
    """
    began, targets, results = time.monotonic(), process.job.targets, {} if results is None else results
    engine = Engine(process)
    await engine.connect()
    try:
        names = list(await engine.catalogue())
        queue = ExaminationQueue(
            deque(enumerate(names)), _parse_allowlist(allowed, names), tell, drawn, results, strict
        )
        await _share(engine, queue, helper_count(len(names)))
        device = await engine.device()
        seconds = time.monotonic() - began
        kind = next(each["name"] for each in device["devices"] if each["kind"] == device["auto"])
        notes = tuple(engine.notes)
        return Report(targets, in_order(results), (), device["torch"], kind, seconds, notes=notes)
    except EngineBroken as broken:
        error = engine.trouble or load_error(str(broken))
        return Report(targets, in_order(results), (error,), seconds=time.monotonic() - began)
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
    strict: bool = False

    async def serve(self, engine: Engine) -> None:
        """Examine one after the other until none is left; raises ``EngineBroken`` and ``UnknownAllowance``."""
        while self.waiting:
            number, name = self.waiting.popleft()
            self.tell(len(self.found), len(self.allowed), name)
            try:
                examined = await examine_function(engine, name, self.allowed[name], strict=self.strict)
            except BaseException:
                self.waiting.appendleft((number, name))
                raise
            _check_allowed_ids(examined.checked, self.allowed[name])
            self.found[number] = examined if self.drawn else replace(examined, curves=None)


async def _share(engine: Engine, queue: ExaminationQueue, helpers: int) -> None:
    """Have an engine and ``more`` like it examine the queue."""
    catalogue = await engine.catalogue()
    tasks = [asyncio.create_task(_help(engine.job, catalogue, queue)) for _ in range(helpers)]
    try:
        await queue.serve(engine)
        await asyncio.gather(*tasks)
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    await queue.serve(engine)  # Functions that a failed helper has put back


async def _help(job: Job, catalogue: dict[str, Any], queue: ExaminationQueue) -> None:
    """Examine with a further worker, unless that fails or has loaded something else: the file may have changed."""
    with suppress(OSError, EngineBroken):
        engine = Engine.spawn(job)
        await engine.connect()
        try:
            if await engine.catalogue() == catalogue:
                await queue.serve(engine)
        finally:
            await engine.close()


def in_order(results: Mapping[int, ExaminedFunction]) -> tuple[ExaminedFunction, ...]:
    """The results in the order of the files."""
    return tuple(results[number] for number in sorted(results))


def helper_count(count: int) -> int:
    """How many workers to use for ``count`` Functions, beside the first."""
    if count <= _SHARE:
        return 0
    import psutil  # imported late: not needed for a few

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(0, min(cores, _MAX_WORKERS, -(-count // _SHARE), psutil.virtual_memory().available // _WORKER_BYTES) - 1)


class UnknownAllowance(Exception):
    """A name of no Function, or of no check of it; the message lists those there are."""


def _parse_allowlist(given: Iterable[str], names: list[str]) -> Mapping[str, frozenset[str]]:
    """Parse ``--allow``: the ids that are no failure, by name of the Function; raises ``UnknownAllowance``.

    ``Name`` allows it to differ: the verdict, and those checks that follow from it. ``Name:ID`` allows only the check
    of that id, or only the verdict where it is ``gradient``.
    """
    allowed = dict.fromkeys(names, frozenset[str]())
    for each in given:
        name, _, id_ = each.partition(":")
        if name not in allowed:
            rest = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
            known = ", ".join(names[:_MAX_NAMED]) + rest
            raise UnknownAllowance(f"--allow {each} names no Function that was found; there are {known}.")
        allowed[name] |= {id_} if id_ else {VERDICT_ID} | DIFFERENCE_IDS
    return allowed


def _check_allowed_ids(result: CheckResult, allowed: frozenset[str]) -> None:
    """Raise ``UnknownAllowance`` for an id that is none of the checks that were made."""
    ids = dict.fromkeys([VERDICT_ID, *(each.id for each in result.findings)])
    unknown = sorted(allowed - {VERDICT_ID, DEFAULT_ID, REMARK_ID} - DIFFERENCE_IDS - ids.keys())
    if unknown and result.findings:
        culprit = f"--allow {result.name}:{unknown[0]}"
        raise UnknownAllowance(f"{culprit} names no check of {result.name}; there are {', '.join(ids)}.")
