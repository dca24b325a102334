"""The reloader: loads the user's files in a new worker after every save; the last good load stays until the next."""

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
from ..protocol.job import Job
from ..supervisor.engine import Engine
from ..supervisor.supervisor import EngineCounters
from ..supervisor.worker_process import WorkerProcess
from .draining import DrainingEngines
from .file_state import written_since
from .file_watcher import FileWatcher
from .missing_files import missing_files_error, spawn_error, target_files

_LOG = logging.getLogger("gradloupe")
_HELD = 0.4  # seconds before a load error is shown: the save may be incomplete
_AFTER = 0.06  # seconds to notice a save during the load
_SLOW = 0.4  # seconds after which a load is shown as slow
_COARSE = 0.05  # seconds by which the time stamps of a file system may be behind


class Reloader:
    """Loads the targets of ``work``, one worker for each load. Raises ``OSError`` where no process can be started.

    ``engine`` is that of the last good load, or the newest where there is none; ``trouble`` is the error of the newest
    load, and ``generation`` the number of finished loads.
    """

    def __init__(self, work: Job) -> None:
        self._work = work
        self._own = target_files(work.targets)
        self._watcher = FileWatcher(self._own)
        self._began = time.time()
        self._account = EngineCounters(late=self._late)
        self._lately: set[Path] = set()  # files that only a call has imported
        self.engine = Engine(WorkerProcess(work), self._account)
        self.trouble: dict[str, Any] | None = None
        self.generation = 0
        self._good = False
        self._loading = False
        self._digests: dict[str, str] = {}
        self._newest: Engine | None = self.engine  # of the load under way
        self._retired = DrainingEngines()
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended = False
        self._told = 0  # how often the state has changed
        self._said = ""  # the error last logged
        self._change = asyncio.Condition()  # notified when `_told` grows

    async def connect(self) -> None:
        """Connect to the first worker, and watch the files from now on."""
        await self.engine.connect()
        self._start(self._load(self.engine, self._watcher.stirs, self._began))
        self._start(self._follow())

    def end(self) -> None:
        """End all iterations over ``changes``."""
        self._ended = True
        self._start(self._tell())

    async def close(self) -> None:
        """End all workers and release everything."""
        self._ended = True
        newest, self._newest = self._newest, None
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await self.engine.close()  # wakes the tasks that wait for it
        if newest is not None and newest is not self.engine:
            await newest.close()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._retired.close()

    async def reload(self) -> None:
        """Load the files as they are now; returns once that, or the load of a later save, is finished."""
        self._work = replace(self._work, again=self._work.again + 1)
        await self._begin()
        async with self._change:
            await self._change.wait_for(lambda: self._newest is None or self._ended)

    def state(self) -> dict[str, Any]:
        """The state for the pages: ``generation``, ``trouble``, ``digests`` by name, the name of the ``first`` op.

        ``loading`` says that the present load is slow. Digests and first op are those of the last good load.
        """
        return {
            "generation": self.generation,
            "trouble": self.trouble,
            "digests": self._digests,
            "first": next(iter(self._digests), None),
            "loading": self._loading,
        }

    async def changes(self) -> AsyncGenerator[dict[str, Any], None]:
        """The state now, and after every change; until ``end``."""
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
                    self.trouble = missing_files_error(missing, self._good)
                    await self._finish()
                else:
                    await self._begin()

    async def _begin(self) -> None:
        """Start a load, and drop the one under way, if there is one."""
        self._dismiss()
        stirs, now = self._watcher.stirs, time.time()
        if self._lately:  # not part of the digests: cached answers must not be used again
            self._work = replace(self._work, again=self._work.again + 1)
        try:
            engine = Engine(WorkerProcess(self._work), self._account)
        except OSError as problem:
            self.trouble = spawn_error(problem)
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
        """Finish a load: show it or its error, unless a newer one has begun."""
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
            if self._newest is engine and self._watcher.stirs != stirs:  # it has read an incomplete save
                await self._begin()
        if self._newest is engine:
            self._accept(engine, {name: op["digest"] for name, op in known.items()})
            fresh = self._watch(engine, began)
            await self._finish()
            if fresh or self._watcher.stirs != stirs:
                await self._begin()

    def _accept(self, engine: Engine, digests: dict[str, str]) -> None:
        """Show this load; a failed one only if there is no good one."""
        self.trouble = engine.trouble
        if engine.broken and self._good:
            self._retired.add(engine)
            return
        if engine is not self.engine:
            engine.inherit(self.engine.recipes)
            self._retired.add(self.engine)
        self.engine, self._digests, self._good = engine, digests, not engine.broken

    def _watch(self, engine: Engine, began: float) -> bool:
        """Watch the files of this load; whether one that was not watched has been saved since it began."""
        files = _paths(engine.files)
        fresh = any(written_since(path, began - _COARSE) for path in files - self._watcher.files)
        kept = self._watcher.files if engine.broken else self._own | self._lately
        self._watcher.follow(files | kept, wide=bool(engine.broken))
        return fresh

    def _late(self, files: list[str], since: float) -> None:
        """Watch what a call has imported, too; not what was written meanwhile, as that may be its own output."""
        found = _paths(files) - self._watcher.files
        fresh = {path for path in found if path.exists() and not written_since(path, since - _COARSE)}
        self._lately = {path for path in self._lately if path.exists()} | fresh
        if fresh:
            self._watcher.add(fresh)

    async def _finish(self) -> None:
        self._newest, self._loading = None, False
        self.generation += 1
        self._say()
        await self._tell()

    def _say(self) -> None:
        """Log an error that is new, and its end."""
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
        """Return when the state has changed more often than ``known``."""
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
    """Return when the engine's worker has sent its greeting, good or not."""
    with suppress(EngineBroken, EngineBusy):
        await engine.wait_ready()


def _paths(files: Iterable[str]) -> set[Path]:
    return {Path(each) for each in files}
