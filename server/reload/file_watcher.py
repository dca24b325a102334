"""File watcher: reports when contents have changed and settled, whatever an editor's way of saving."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from watchfiles import awatch

from .file_state import MISSING_FILE, FileStates, file_digests, file_stats, is_empty_digest

_STEP = 20  # ms between two polls of the events of the system
CHECK_INTERVAL = 1.0  # seconds between two polls of the files: on network file systems there are no events
_POLL_INTERVAL = 0.3  # the same where nothing can be watched
_SETTLE_TIME = 0.015  # seconds without a change before the contents count as saved
_SETTLE_TIME_EMPTY = 0.15  # the same for an empty file: most are about to be written
_SETTLE_TIME_MISSING = 0.5  # the same for a missing file


class FileWatcher:
    """Watches ``files`` and, if wide, every module in their folders.

    ``stirs`` counts the events that were reported or found by polling.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self.files = frozenset(files)
        self._wide = False
        self._known = file_digests(self.files, self._wide)
        self._stirred, self._anew = asyncio.Event(), asyncio.Event()
        self._blind = False
        self.stirs = 0

    def follow(self, files: Iterable[Path], wide: bool) -> None:
        """Watch these from now on; the present content of new ones counts as known."""
        before = self._folders()
        self.files, self._wide = frozenset(files), wide
        now = file_digests(self.files, wide)
        self._known = now | {path: self._known[path] for path in now.keys() & self._known.keys()}
        if self._folders() != before:
            self._anew.set()

    def add(self, files: Iterable[Path]) -> None:
        """Watch these in addition."""
        self.follow(self.files.union(files), self._wide)

    async def saves(self) -> AsyncGenerator[list[Path], None]:
        """Yields, whenever contents have changed and settled, the files that are missing."""
        async with self._watching():
            seen = await asyncio.to_thread(file_stats, self.files, self._wide)
            while True:
                gone = await self._settled()
                if gone is not None:
                    yield gone
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stirred.wait(), _POLL_INTERVAL if self._blind else CHECK_INTERVAL)
                now = await asyncio.to_thread(file_stats, self.files, self._wide)
                if now != seen and not self._stirred.is_set():  # no event for that change: the folder was replaced
                    self._anew.set()
                    self.stirs += 1
                seen = now
                self._stirred.clear()

    async def _settled(self) -> list[Path] | None:
        """The missing files, once all contents have settled; None if they are unchanged."""
        loop = asyncio.get_running_loop()
        now, since = await self._stamp(), loop.time()
        while now != self._known:
            await asyncio.sleep(_SETTLE_TIME)
            then, now = now, await self._stamp()
            if then != now:
                since = loop.time()
                continue
            changed = {path for path in now if now[path] != self._known.get(path)}
            gone = [path for path in changed if now[path] == MISSING_FILE]
            patience = (
                _SETTLE_TIME_MISSING
                if gone
                else _SETTLE_TIME_EMPTY
                if any(is_empty_digest(now[path]) for path in changed)
                else 0.0
            )
            if loop.time() - since >= patience:
                self._known = now
                return sorted(gone)
        return None

    async def _stamp(self) -> FileStates:
        return await asyncio.to_thread(file_digests, self.files, self._wide)

    def _folders(self) -> set[Path]:
        """The folders of the files, and of the targets of symbolic links."""
        return {Path(each).parent for path in self.files for each in (path, os.path.realpath(path))}

    def _matters(self, _: object, path: str) -> bool:
        name = Path(path).name
        return any(name == each.name for each in self.files) or (self._wide and _importable(name))

    @asynccontextmanager
    async def _watching(self) -> AsyncIterator[None]:
        """Receive the events of the system meanwhile; watching starts anew when the folders change."""
        ended = asyncio.Event()
        watching = asyncio.create_task(self._watch(ended))
        try:
            yield
        finally:
            ended.set()
            self._anew.set()
            await watching

    async def _watch(self, ended: asyncio.Event) -> None:
        while not ended.is_set():
            self._anew.clear()
            folders = [folder for folder in self._folders() if folder.is_dir()]
            self._blind = not folders
            try:
                if folders:
                    await self._hear(folders)
            # Deleted meanwhile, more than inotify allows, or a name that cannot be decoded.
            except (OSError, RuntimeError, ExceptionGroup) as problem:
                logging.getLogger("uvicorn.error").info("looked at, not watched: %s", problem)
                self._blind = True
            await self._anew.wait()

    async def _hear(self, folders: list[Path]) -> None:
        """Note the events in these folders, until there are others to watch."""
        reported = awatch(
            *folders,
            watch_filter=self._matters,
            step=_STEP,
            debounce=_STEP,
            recursive=False,
            stop_event=self._anew,
        )
        async for _ in reported:
            self.stirs += 1
            self._stirred.set()


def _importable(name: str) -> bool:
    """Whether a file or folder of that name may be a module or a package."""
    return name.endswith(".py") or (name.isidentifier() and not name.startswith("__"))
