"""The visitor's files, loaded anew whenever they are saved; what was loaded well stays until the next that is."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Coroutine, Iterable
from contextlib import aclosing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..protocol.errors import EngineBroken, EngineBusy
from ..protocol.job import Work
from ..supervisor.engine import Engine
from ..supervisor.supervisor import Account
from ..supervisor.worker_process import WorkerProcess
from .draining import Retired
from .file_state import young
from .file_watcher import Watcher
from .missing_files import absence, files_of, unstarted

_LOG = logging.getLogger("gradloupe")
_HELD = 0.4  # seconds after a save in which its trouble is not told: it may be half of a save
_AFTER = 0.06  # seconds in which a save that spoilt a load is noticed
_SLOW = 0.4  # seconds after which it is said that a load takes its time
_COARSE = 0.05  # seconds by which the clock of a file system may be behind


class Loads:
    """Loads the targets of ``work``, one worker for each load. Raises ``OSError`` where no process can be started.

    ``engine`` has what was last loaded well, before that the newest load; ``trouble`` is that of the newest load, and
    ``generation`` the number of loads that have come to an end.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._own = files_of(work.targets)
        self._watcher = Watcher(self._own)
        self._began = time.time()
        self._account = Account(late=self._late)
        self._lately: set[Path] = set()  # files that only a call has imported
        self.engine = Engine(WorkerProcess(work), self._account)
        self.trouble: dict[str, Any] | None = None
        self.generation = 0
        self._good = False
        self._loading = False
        self._digests: dict[str, str] = {}
        self._newest: Engine | None = self.engine  # of the load under way
        self._retired = Retired()
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended = False
        self._told = 0  # how many times the state was another
        self._said = ""  # to whoever looks at the terminal, of trouble that lasts
        self._change = asyncio.Condition()  # of that number

    async def connect(self) -> None:
        """Listen to the first worker, and to what happens to the files, from now on."""
        await self.engine.connect()
        self._start(self._load(self.engine, self._watcher.stirs, self._began))
        self._start(self._follow())

    def end(self) -> None:
        """Tell all who hear of changes that there will be no more."""
        self._ended = True
        self._start(self._tell())

    async def close(self) -> None:
        """End all workers and leave nothing behind."""
        self._ended = True
        newest, self._newest = self._newest, None
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await self.engine.close()  # whoever waits for it is told, and can end
        if newest is not None and newest is not self.engine:
            await newest.close()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._retired.close()

    async def reload(self) -> None:
        """Load what the files hold now; returns when that, or what was saved meanwhile, is there or in trouble."""
        self._work = replace(self._work, again=self._work.again + 1)
        await self._begin()
        async with self._change:
            await self._change.wait_for(lambda: self._newest is None or self._ended)

    def state(self) -> dict[str, Any]:
        """What a page has to know: ``generation``, ``trouble``, ``digests`` by name, the name of the ``first`` op.

        ``loading`` says that a load takes its time. Digests and first op are those of the last good load.
        """
        return {
            "generation": self.generation,
            "trouble": self.trouble,
            "digests": self._digests,
            "first": next(iter(self._digests), None),
            "loading": self._loading,
        }

    async def changes(self) -> AsyncGenerator[dict[str, Any], None]:
        """The state now, and whenever it is another; until ``end``."""
        while not self._ended:
            told = self._told
            yield self.state()
            await self._news(told)

    async def _follow(self) -> None:
        async with aclosing(self._watcher.saves()) as saves:
            async for gone in saves:
                missing = [path for path in gone if path in self._own]
                if missing:
                    self._dismiss()
                    self.trouble = absence(missing, self._good)
                    await self._finish()
                else:
                    await self._begin()

    async def _begin(self) -> None:
        """Start a load; the one under way, if there is one, is of no interest any more."""
        self._dismiss()
        stirs, now = self._watcher.stirs, time.time()
        if self._lately:  # which the digests know nothing of: what was kept may not be shown again
            self._work = replace(self._work, again=self._work.again + 1)
        try:
            engine = Engine(WorkerProcess(self._work), self._account)
        except OSError as problem:
            self.trouble = unstarted(problem)
            await self._finish()
            return
        await engine.connect()
        self._newest = engine
        self._start(self._load(engine, stirs, now))

    def _dismiss(self) -> None:
        newest, self._newest = self._newest, None
        if newest is not None and newest is not self.engine:
            self._retired.add(newest)

    async def _load(self, engine: Engine, stirs: int, began: float) -> None:
        """See a load through: it is shown, or its trouble told, unless a newer one has begun."""
        greeting = asyncio.create_task(_greeting(engine))
        await asyncio.wait({greeting}, timeout=_SLOW)
        if not greeting.done() and self._newest is engine:
            self._loading = True
            await self._tell()
        await greeting
        if self._ended:
            return
        known = {} if engine.broken else await engine.catalogue()
        if engine.broken or self._digests.keys() - known.keys():
            await asyncio.sleep(max(_AFTER, began + _HELD - time.time()))
            if self._newest is engine and self._watcher.stirs != stirs:  # it has read half of what was to be saved
                await self._begin()
        if self._newest is engine:
            self._accept(engine, {name: op["digest"] for name, op in known.items()})
            fresh = self._watch(engine, began)
            await self._finish()
            if fresh or self._watcher.stirs != stirs:
                await self._begin()

    def _accept(self, engine: Engine, digests: dict[str, str]) -> None:
        """Show this load; one that failed only while there is no better."""
        self.trouble = engine.trouble
        if engine.broken and self._good:
            self._retired.add(engine)
            return
        if engine is not self.engine:
            engine.inherit(self.engine.recipes)
            self._retired.add(self.engine)
        self.engine, self._digests, self._good = engine, digests, not engine.broken

    def _watch(self, engine: Engine, began: float) -> bool:
        """Follow the files of this load; whether one of which nothing was known has been saved since it began."""
        files = _paths(engine.files)
        fresh = any(young(path, began - _COARSE) for path in files - self._watcher.files)
        kept = self._watcher.files if engine.broken else self._own | self._lately
        self._watcher.follow(files | kept, wide=bool(engine.broken))
        return fresh

    def _late(self, files: list[str], since: float) -> None:
        """Follow what a call has imported, too, but for what was written meanwhile: that may be its own work."""
        found = _paths(files) - self._watcher.files
        fresh = {path for path in found if path.exists() and not young(path, since - _COARSE)}
        self._lately = {path for path in self._lately if path.exists()} | fresh
        if fresh:
            self._watcher.add(fresh)

    async def _finish(self) -> None:
        self._newest, self._loading = None, False
        self.generation += 1
        self._say()
        await self._tell()

    def _say(self) -> None:
        """Tell the terminal of a trouble that is new, and of its end."""
        said, self._said = self._said, self.trouble["sentence"] if self.trouble else ""
        if self._said and self._said != said:
            _LOG.warning(self._said)
        elif said and not self._said:
            _LOG.info("loaded again, with %d Function%s.", len(self._digests), "s" * (len(self._digests) != 1))

    async def _tell(self) -> None:
        async with self._change:
            self._told += 1
            self._change.notify_all()

    async def _news(self, known: int) -> None:
        """Return when more has been told than was known."""
        async with self._change:
            await self._change.wait_for(lambda: self._told > known)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _LOG.error("the files are not followed", exc_info=task.exception())


async def _greeting(engine: Engine) -> None:
    """Return when the engine's worker has greeted, well or not."""
    with suppress(EngineBroken, EngineBusy):
        await engine.wait_ready()


def _paths(files: Iterable[str]) -> set[Path]:
    return {Path(each) for each in files}
