"""Examines all Functions of the targets, in several workers; a crash costs only the Function that caused it."""

import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace

from ..protocol.errors import EngineBroken
from ..protocol.job import Job
from ..protocol.load_error import load_error
from ..schema.op import LoadError
from ..supervisor.engine import Engine
from ..supervisor.helpers import helper_count
from ..supervisor.worker_process import WorkerProcess
from .allowlist import absent_allowances
from .pool import ProgressCallback, Wanted, examine_together
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

    A target in which nothing looks like a Function is no load error, and noted. All else is as in ``Wanted``. Raises
    ``UnknownAllowance``.
    """
    wanted = Wanted(allowed, tell, drawn, results, strict)
    report = await _examined(process, wanted)
    if report.troubles and not report.found and len(report.targets) > 1:
        report = await _examined_apart(process.job, wanted, report)
    empty = [each["sentence"] for each in report.troubles if each["kind"] == "NothingToLookAt"]
    troubles = tuple(each for each in report.troubles if each["kind"] != "NothingToLookAt")
    return replace(report, troubles=troubles, notes=(*report.notes, *empty))


async def _examined_apart(job: Job, wanted: Wanted, together: Report) -> Report:
    """The report on those targets that can be loaded; that on all ``together`` where none can, or each by itself."""
    errors = {target: await _load_error_of(replace(job, targets=(target,))) for target in job.targets}
    good = tuple(target for target, error in errors.items() if error is None)
    troubles: list[LoadError] = [{"target": target, **error} for target, error in errors.items() if error is not None]
    if not troubles:
        return together
    others = replace(together, troubles=())
    if good:
        with suppress(OSError):
            others = await _examined(WorkerProcess(replace(job, targets=good)), wanted)
    return replace(others, targets=job.targets, troubles=(*troubles, *others.troubles))


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


async def _examined(process: WorkerProcess, wanted: Wanted) -> Report:
    """The report on the Functions that ``process`` imports. Raises ``UnknownAllowance``."""
    began, engine = time.monotonic(), Engine(process)
    report = Report(process.job.targets)
    await engine.connect()
    try:
        names, device = list(await engine.catalogue()), await engine.device()
        await examine_together(engine, wanted, helper_count(len(names)))
        kind = next(each["name"] for each in device["devices"] if each["kind"] == device["auto"])
        notes = (*engine.notes, *absent_allowances(wanted.allowed, names))
        report = replace(report, torch=device["torch"], device=kind, notes=notes)
    except EngineBroken as broken:
        report = replace(report, troubles=(engine.trouble or load_error(str(broken)),))
    finally:
        await engine.close()
    return replace(report, found=in_order(wanted.results), seconds=time.monotonic() - began)


def in_order(results: Mapping[int, ExaminedFunction]) -> tuple[ExaminedFunction, ...]:
    """The results in the order of the files."""
    return tuple(results[number] for number in sorted(results))
