"""Examines all Functions of the targets, in several workers; a crash costs only the Function that caused it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import replace

from ..protocol.errors import EngineBroken
from ..protocol.job import Job
from ..protocol.load_error import load_error
from ..schema.op import LoadError
from ..supervisor.engine import Engine
from ..supervisor.helpers import helper_count
from ..supervisor.worker_process import WorkerProcess
from .allowlist import absent_allowances, parse_allowlist
from .examination_queue import ExaminationQueue, ProgressCallback, examine_together
from .result import ExaminedFunction, Report


async def examine_targets(
    process: WorkerProcess,
    allowed: Collection[str],
    tell: ProgressCallback,
    drawn: bool,
    results: dict[int, ExaminedFunction],
    strict: bool = False,
) -> Report:
    """The report on all targets; if they do not load together, on those that load, with the load errors of the rest.

    ``strict`` makes failures of warnings. A target in which nothing looks like a Function is no load error, and noted.
    Raises ``UnknownAllowance``.
    """
    report = await _examine_loadable(process, allowed, tell, drawn, results, strict)
    empty = [each["sentence"] for each in report.troubles if each["kind"] == "NothingToLookAt"]
    troubles = tuple(each for each in report.troubles if each["kind"] != "NothingToLookAt")
    return replace(report, troubles=troubles, notes=(*report.notes, *empty))


async def _examine_loadable(
    process: WorkerProcess,
    allowed: Collection[str],
    tell: ProgressCallback,
    drawn: bool,
    results: dict[int, ExaminedFunction],
    strict: bool,
) -> Report:
    together = await examine_all(process, allowed, tell, drawn, results, strict)
    job = process.job
    if not together.troubles or together.found or len(job.targets) == 1:
        return together
    errors = {target: await _load_error_of(replace(job, targets=(target,))) for target in job.targets}
    good = tuple(target for target, error in errors.items() if error is None)
    troubles = tuple(_of_target(target, error) for target, error in errors.items() if error is not None)
    if not troubles:  # each can be loaded, but not together
        return together
    if not good:
        return replace(together, troubles=troubles)
    try:
        others = await examine_all(WorkerProcess(replace(job, targets=good)), allowed, tell, drawn, results, strict)
    except OSError:
        return replace(together, troubles=troubles)
    return replace(others, targets=job.targets, troubles=(*troubles, *others.troubles))


def _of_target(target: str, error: LoadError) -> LoadError:
    return {"target": target, **error}


async def _load_error_of(job: Job) -> LoadError | None:
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
    """The report on the Functions that ``process`` imports; ``tell`` gets the number done, their total and the names
    of those under way.

    Curves are kept only if they are ``drawn``. ``results`` is filled as results come, for callers that are interrupted.
    Raises ``UnknownAllowance``.
    """
    began, targets, results = time.monotonic(), process.job.targets, {} if results is None else results
    engine = Engine(process)
    await engine.connect()
    try:
        names = list(await engine.catalogue())
        queue = ExaminationQueue(deque(enumerate(names)), parse_allowlist(allowed, names), tell, drawn, results, strict)
        await examine_together(engine, queue, helper_count(len(names)))
        device = await engine.device()
        seconds = time.monotonic() - began
        kind = next(each["name"] for each in device["devices"] if each["kind"] == device["auto"])
        notes = (*engine.notes, *absent_allowances(allowed, names))
        return Report(targets, in_order(results), (), device["torch"], kind, seconds, notes=notes)
    except EngineBroken as broken:
        error = engine.trouble or load_error(str(broken))
        return Report(targets, in_order(results), (error,), seconds=time.monotonic() - began)
    finally:
        await engine.close()


def in_order(results: Mapping[int, ExaminedFunction]) -> tuple[ExaminedFunction, ...]:
    """The results in the order of the files."""
    return tuple(results[number] for number in sorted(results))
