"""The queue of Functions to examine: shared by several workers, and asked once more where chance had a part."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from ..protocol.errors import EngineBroken
from ..protocol.job import Job
from ..supervisor.crash_report import WorkerLost
from ..supervisor.engine import Catalogue, Engine
from .allowlist import check_allowed_ids
from .examine import examine_function, with_advice
from .result import ExaminedFunction
from .summarize import asked_twice

ProgressCallback = Callable[[int, int, Sequence[str]], None]


@dataclass
class ExaminationQueue:
    """The Functions still to be examined, each with its index, and the results of the others.

    ``tell`` gets the number done, their total and the names of those under way. ``under_way`` has those by index;
    ``lost`` are to be asked once more, whose results are in ``found`` until then.
    """

    waiting: deque[tuple[int, str]]
    allowed: Mapping[str, frozenset[str]]
    tell: ProgressCallback
    drawn: bool
    found: dict[int, ExaminedFunction]
    strict: bool = False
    shared: bool = False
    under_way: dict[int, str] = field(default_factory=dict)
    lost: list[tuple[int, str]] = field(default_factory=list)

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
        engine.last_loss = None
        examined = with_advice(await examine_function(engine, name, self.allowed[name], strict=self.strict))
        check_allowed_ids(examined.checked, self.allowed[name])
        if number in self.found:
            examined = replace(examined, checked=asked_twice(examined.checked))
        elif chance_had_a_part(engine.last_loss, self.shared):
            self.lost.append((number, name))
        self.found[number] = examined if self.drawn else replace(examined, curves=None)

    def _tell(self) -> None:
        done = len(self.found) - len(self.lost) - len(self.found.keys() & self.under_way.keys())
        self.tell(done, len(self.allowed), tuple(self.under_way.values()))


def chance_had_a_part(loss: WorkerLost | None, shared: bool) -> bool:
    """Whether a Function that has lost its worker may fare better alone: the worker died, or had to wait.

    At a limit that does not depend on what else the machine does, it would end again. ``shared``: other workers of
    this report computed meanwhile, and so took a part of the caches and of the memory.
    """
    if loss is None or loss.limit is None:
        return loss is not None
    return loss.kind == "Timeout" and (shared or loss.limit.waited)


async def examine_together(engine: Engine, queue: ExaminationQueue, helpers: int) -> None:
    """Have an engine and so many like it examine the queue; then one alone once more what was lost by chance."""
    catalogue, queue.shared = await engine.catalogue(), helpers > 0
    serving = set[asyncio.Task[None]]()
    tasks = [asyncio.create_task(_help(engine.job, catalogue, queue, serving)) for _ in range(helpers)]
    try:
        await queue.serve(engine)
        # Nothing is left for those who are still loading the file.
        await _cancelled([each for each in tasks if each not in serving])
        await asyncio.gather(*(each for each in tasks if each in serving))
    finally:
        await _cancelled(tasks)
    queue.shared = False
    await queue.serve(engine)  # what a failed helper has put back
    queue.waiting, queue.lost = deque(sorted(queue.lost)), []
    if queue.waiting:
        await _help(engine.job, catalogue, queue, serving)


async def _cancelled(tasks: Sequence[asyncio.Task[None]]) -> None:
    for each in tasks:
        each.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _help(job: Job, catalogue: Catalogue, queue: ExaminationQueue, serving: set[asyncio.Task[None]]) -> None:
    """Examine with a further worker, unless that fails or has loaded something else: the file may have changed.

    The task is in ``serving`` while it does.
    """
    task = asyncio.current_task()
    assert task is not None
    with suppress(OSError, EngineBroken):
        engine = Engine.spawn(job)
        await engine.connect()
        try:
            if await engine.catalogue() == catalogue:
                serving.add(task)
                await queue.serve(engine)
        finally:
            await engine.close()
