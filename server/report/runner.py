"""Examines all Functions of the targets, in several workers; a crash costs only the Function that caused it.

Those that were lost by chance are examined once more, alone.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from ..protocol.errors import EngineBroken
from ..protocol.job import Job
from ..protocol.load_error import load_error
from ..schema.op import LoadError
from ..supervisor.crash_report import WorkerLost
from ..supervisor.engine import Catalogue, Engine
from ..supervisor.worker_process import WorkerProcess, helper_count
from .baseline import absent_allowances, check_allowed_ids, parse_allowlist
from .examine import examine_function, with_advice
from .result import ExaminedFunction, Report
from .summarize import asked_twice

ProgressCallback = Callable[[int, int, Sequence[str]], None]


@dataclass(frozen=True)
class Wanted:
    """What is asked of a report.

    ``allowed`` is what need not be passed, ``strict`` makes failures of warnings, and curves are kept only if they are
    ``drawn``. ``tell`` gets the number done, their total and the names of those under way. ``results`` is filled as
    they come, by the numbers of the Functions, for callers that are interrupted.
    """

    allowed: Collection[str]
    tell: ProgressCallback
    drawn: bool
    results: dict[int, ExaminedFunction]
    strict: bool = False


class _Pool:
    """The Functions still to be examined, each with its number, those under way, and those to be asked once more."""

    def __init__(self, names: Sequence[str], wanted: Wanted) -> None:
        self.waiting = deque(enumerate(names))
        self.under_way: dict[int, str] = {}
        self.lost: list[tuple[int, str]] = []
        self.shared = False  # whether other workers of this report compute meanwhile
        self._wanted, self._allowed = wanted, parse_allowlist(wanted.allowed, [*names])

    async def serve(self, engine: Engine) -> None:
        """Examine one after the other until none is left; raises ``EngineBroken`` and ``UnknownAllowance``."""
        while self.waiting:
            number, name = self.waiting.popleft()
            self.under_way[number] = name
            self._tell()
            try:
                await self._examine(engine, number, name)
            except BaseException:
                self.waiting.appendleft((number, name))
                raise
            finally:
                del self.under_way[number]
                self._tell()

    async def _examine(self, engine: Engine, number: int, name: str) -> None:
        engine.last_loss, results, allowed = None, self._wanted.results, self._allowed[name]
        examined = with_advice(await examine_function(engine, name, allowed, strict=self._wanted.strict))
        check_allowed_ids(examined.checked, allowed)
        if number in results:
            examined = replace(examined, checked=asked_twice(examined.checked))
        elif chance_had_a_part(engine.last_loss, self.shared):
            self.lost.append((number, name))
        results[number] = examined if self._wanted.drawn else replace(examined, curves=None)

    def _tell(self) -> None:
        results = self._wanted.results
        done = len(results) - len(self.lost) - len(results.keys() & self.under_way.keys())
        self._wanted.tell(done, len(self._allowed), tuple(self.under_way.values()))


def chance_had_a_part(loss: WorkerLost | None, shared: bool) -> bool:
    """Whether a Function that has lost its worker may fare better alone: the worker died, or had to wait.

    At a limit that does not depend on what else the machine does, it would end again. ``shared``: other workers of
    this report computed meanwhile, and so took a part of the caches and of the memory.
    """
    if loss is None or loss.limit is None:
        return loss is not None
    return loss.kind == "Timeout" and (shared or loss.limit.waited)


async def examine_together(engine: Engine, wanted: Wanted, helpers: int) -> None:
    """Have an engine and so many like it examine all Functions; then one alone once more what was lost by chance."""
    catalogue = await engine.catalogue()
    pool = _Pool(list(catalogue), wanted)
    pool.shared = helpers > 0
    tasks = [asyncio.create_task(_help(engine.job, catalogue, pool)) for _ in range(helpers)]
    try:
        await pool.serve(engine)
        while pool.under_way:  # nobody waits for those who are still loading the file
            await asyncio.wait([task for task in tasks if not task.done()], return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    pool.shared = False
    await pool.serve(engine)  # what a failed helper has put back
    pool.waiting, pool.lost = deque(sorted(pool.lost)), []
    if pool.waiting:
        await _help(engine.job, catalogue, pool)


async def _help(job: Job, catalogue: Catalogue, pool: _Pool) -> None:
    """Examine with a further worker, unless that fails or has loaded something else: the file may have changed."""
    with suppress(OSError, EngineBroken):
        engine = Engine.spawn(job)
        await engine.connect()
        try:
            if await engine.catalogue() == catalogue:
                await pool.serve(engine)
        finally:
            await engine.close()


async def examine_targets(process: WorkerProcess, wanted: Wanted) -> Report:
    """The report on all targets; if they do not load together, on those that load, with the load errors of the rest.

    A target in which nothing looks like a Function is no load error, and noted. Raises ``UnknownAllowance``.
    """
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
