"""The reloader: loads the user's files in a new worker after every save; the last good load stays until the next."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Coroutine, Iterable, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict

from ..config.target import BadTarget, parse_target
from ..numbered_files import NumberedFolders
from ..protocol.errors import EngineBroken, EngineBusy
from ..protocol.job import Job
from ..protocol.load_error import load_error
from ..schema.op import LoadError
from ..supervisor.engine import Engine, EngineCounters
from ..supervisor.worker_process import WorkerProcess
from .file_watcher import FileWatcher, written_since

_LOG = logging.getLogger("gradloupe")
_ERROR_DELAY = 0.4  # seconds before a load error is shown: the save may be incomplete
_SAVE_DELAY = 0.06  # seconds to notice a save during the load
_SLOW = 0.4  # seconds after which a load is shown as slow
_COURSE_INTERVAL = 0.4  # seconds between two looks at the files of lessons
_NO_COURSE = NumberedFolders()
_TIMESTAMP_LAG = 0.05  # seconds by which the time stamps of a file system may be behind
_CLOCK_TICK = 0.01  # seconds by which those of a local one are: it stamps with the time of the last tick


class ReloadState(TypedDict):
    """How many loads are finished, the ``trouble`` of the newest one, and whether the present one is slow.

    ``digests`` by name, and the name of the ``first`` op, are those of the last good load; ``course`` is the digest of
    the files of lessons and exercises.
    """

    generation: int
    trouble: LoadError | None
    digests: dict[str, str]
    first: str | None
    loading: bool
    course: str


class Reloader:
    """Loads the targets of ``job``, one worker for each load. Raises ``OSError`` where no process can be started.

    ``engine`` is that of the last good load, or the newest where there is none; ``trouble`` is the error of the newest
    load, and ``generation`` the number of finished loads.
    """

    def __init__(self, job: Job, course: NumberedFolders = _NO_COURSE) -> None:
        self._job, self._folders, self._course = job, course, course.digest()
        self._target_paths = _target_files(job.targets)
        self._watcher = FileWatcher(self._target_paths)
        self._began = time.time()
        self._counters = EngineCounters(late=self._watch_late)
        self._late_files: set[Path] = set()  # files that only a call has imported
        self.engine = Engine(WorkerProcess(job), self._counters)
        self.trouble: LoadError | None = None
        self.generation = 0
        self._has_good_load = False
        self._is_slow = False
        self._digests: dict[str, str] = {}
        self._loading_engine: Engine | None = self.engine  # of the load under way
        self._retired: dict[asyncio.Task[None], Engine] = {}  # with the questions they still have
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended = False
        self._revision = 0  # how often the state has changed
        self._logged_error = ""  # the error last logged
        self._change = asyncio.Condition()  # notified when `_revision` grows

    async def connect(self) -> None:
        """Connect to the first worker, and watch the files from now on."""
        await self.engine.connect()
        self._start(self._load(self.engine, self._watcher.stirs, self._began))
        self._start(self._reload_after_saves())
        if self._folders.folders:
            self._start(self._follow_course())

    def end(self) -> None:
        """End all iterations over ``changes``."""
        self._ended = True
        self._start(self._notify())

    async def close(self) -> None:
        """End all workers and release everything."""
        self._ended = True
        newest, self._loading_engine = self._loading_engine, None
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await self.engine.close()  # wakes the tasks that wait for it
        if newest is not None and newest is not self.engine:
            await newest.close()
        await asyncio.gather(*tasks, return_exceptions=True)
        retired = dict(self._retired)
        for draining in retired:
            draining.cancel()
        await asyncio.gather(*retired, return_exceptions=True)
        for engine in retired.values():
            await engine.close()

    async def reload(self) -> None:
        """Load the files as they are now; returns once that, or the load of a later save, is finished."""
        self._job = replace(self._job, again=self._job.again + 1)
        await self._begin()
        async with self._change:
            await self._change.wait_for(lambda: self._loading_engine is None or self._ended)

    def state(self) -> ReloadState:
        """The state for the pages."""
        return {
            "generation": self.generation,
            "trouble": self.trouble,
            "digests": self._digests,
            "first": next(iter(self._digests), None),
            "loading": self._is_slow,
            "course": self._course,
        }

    async def changes(self, pulse: float | None = None) -> AsyncGenerator[ReloadState, None]:
        """The state now, after every change, and after ``pulse`` seconds without one; until ``end``."""
        while not self._ended:
            revision = self._revision
            yield self.state()
            with suppress(TimeoutError):
                async with asyncio.timeout(pulse), self._change:
                    await self._change.wait_for(lambda: self._revision > revision)  # noqa: B023

    async def _reload_after_saves(self) -> None:
        async with aclosing(self._watcher.saves()) as saves:
            async for gone in saves:
                missing = [path for path in gone if path in self._target_paths]
                if missing:
                    self._drop_load()
                    self.trouble = _missing_files_error(missing)
                    await self._finish()
                else:
                    await self._begin()

    async def _follow_course(self) -> None:
        """Tell when the files of lessons and exercises are others; they are few, and need no worker."""
        while not self._ended:
            await asyncio.sleep(_COURSE_INTERVAL)
            now = await asyncio.to_thread(self._folders.digest)
            if now != self._course:
                self._course = now
                await self._notify()

    async def _begin(self) -> None:
        """Start a load, and drop the one under way, if there is one."""
        self._drop_load()
        events, now = self._watcher.stirs, time.time()
        if self._late_files:  # not part of the digests: cached answers must not be used again
            self._job = replace(self._job, again=self._job.again + 1)
        try:
            engine = Engine(WorkerProcess(self._job), self._counters)
        except OSError as problem:
            sentence = f"No process can be started to load what was saved ({problem}); save again."
            self.trouble = load_error(sentence, "OSError")
            await self._finish()
            return
        await engine.connect()
        self._loading_engine = engine
        self._start(self._load(engine, events, now))

    def _drop_load(self) -> None:
        newest, self._loading_engine = self._loading_engine, None
        if newest is not None and newest is not self.engine:
            self._retire(newest)

    def _retire(self, engine: Engine) -> None:
        draining = asyncio.create_task(_drain(engine))
        self._retired[draining] = engine
        draining.add_done_callback(self._retired.pop)

    async def _load(self, engine: Engine, events: int, began: float) -> None:
        """Finish a load: show it or its error, unless a newer one has begun."""
        greeting = asyncio.create_task(_wait_for_greeting(engine))
        await asyncio.wait({greeting}, timeout=_SLOW)
        if not greeting.done() and self._loading_engine is engine:
            self._is_slow = True
            await self._notify()
        await greeting
        if self._ended:
            return
        catalogue = {} if engine.broken else await engine.catalogue()
        if engine.broken or self._digests.keys() - catalogue.keys():
            await asyncio.sleep(max(_SAVE_DELAY, began + _ERROR_DELAY - time.time()))
            if self._loading_engine is engine and self._watcher.stirs != events:  # it has read an incomplete save
                await self._begin()
        if self._loading_engine is engine:
            self._accept(engine, {name: op["digest"] for name, op in catalogue.items()})
            fresh = self._watch(engine, began)
            await self._finish()
            if fresh or self._watcher.stirs != events:
                await self._begin()

    def _accept(self, engine: Engine, digests: dict[str, str]) -> None:
        """Show this load; a failed one only if there is no good one."""
        self.trouble = engine.trouble
        if engine.broken and self._has_good_load:
            self._retire(engine)
            return
        if engine is not self.engine:
            engine.inherit(self.engine.recipes)
            self._retire(self.engine)
        self.engine, self._digests, self._has_good_load = engine, digests, not engine.broken

    def _watch(self, engine: Engine, began: float) -> bool:
        """Watch the files of this load; whether one that was not watched has been saved since it began."""
        files = set(map(Path, engine.files))
        fresh = any(written_since(path, began - _TIMESTAMP_LAG) for path in files - self._watcher.files)
        kept = self._watcher.files if engine.broken else self._target_paths | self._late_files
        self._watcher.follow(files | kept, wide=bool(engine.broken))
        return fresh

    def _watch_late(self, files: list[str], since: float) -> None:
        """Watch what a call has imported, too; not what was written meanwhile, as that may be its own output.

        What was saved just before the call is the user's, and a file is reported once: only the tick is allowed for.
        """
        unwatched = set(map(Path, files)) - self._watcher.files
        imported = {path for path in unwatched if path.exists() and not written_since(path, since - _CLOCK_TICK)}
        self._late_files = {path for path in self._late_files if path.exists()} | imported
        if imported:
            self._watcher.add(imported)

    async def _finish(self) -> None:
        self._loading_engine, self._is_slow = None, False
        self.generation += 1
        self._log_error()
        await self._notify()

    def _log_error(self) -> None:
        """Log an error that is new, and its end."""
        previous, self._logged_error = self._logged_error, self.trouble["sentence"] if self.trouble else ""
        if self._logged_error and self._logged_error != previous:
            _LOG.warning(self._logged_error)
        elif previous and not self._logged_error:
            _LOG.info("loaded again, with %d Function%s.", len(self._digests), "s" * (len(self._digests) != 1))

    async def _notify(self) -> None:
        async with self._change:
            self._revision += 1
            self._change.notify_all()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _LOG.error("the files are not followed", exc_info=task.exception())


async def _wait_for_greeting(engine: Engine) -> None:
    """Return when the engine's worker has sent its greeting, good or not."""
    with suppress(EngineBroken, EngineBusy):
        await engine.wait_ready()


async def _drain(engine: Engine) -> None:
    """Close an engine once it is idle, or at once if it never became ready; it may get no more questions."""
    if not engine.starting and not engine.broken:
        with suppress(TimeoutError):
            async with asyncio.timeout(engine.job.deadline * (engine.waiting + 1)):
                await engine.idle()
    await engine.close()


def _target_files(targets: Iterable[str]) -> frozenset[Path]:
    """The files among the targets of a command line."""
    paths = set()
    for target in targets:
        with suppress(BadTarget):  # reported when it is loaded
            paths.add(parse_target(target).path)
    return frozenset(Path(path) for path in paths if path)


def _missing_files_error(files: Sequence[Path]) -> LoadError:
    """The load error for deleted files."""
    names, many = ", ".join(path.name for path in files), len(files) > 1
    sentence = f"{names} {'were' if many else 'was'} deleted or moved; put {'them' if many else 'it'} back."
    return load_error(sentence, "FileNotFoundError", files[0].name)
