"""File watcher: reports when contents have changed and settled, whatever an editor's way of saving."""

import asyncio
import hashlib
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from stat import S_ISREG

from watchfiles import awatch

_STEP = 20  # ms between two polls of the events of the system
_CHECK_INTERVAL = 1.0  # seconds between two polls of the files: on network file systems there are no events
_POLL_INTERVAL = 0.3  # the same where nothing can be watched
_SETTLE_TIME = 0.015  # seconds without a change before the contents count as saved
_SETTLE_TIME_EMPTY = 0.15  # the same for an empty file: most are about to be written
_SETTLE_TIME_MISSING = 0.5  # the same for a missing file
_MISSING, _UNREADABLE = "", "unreadable"
_EMPTY = hashlib.blake2b(digest_size=12).hexdigest()
_FileStates = dict[Path, str]


def _file_states(files: Iterable[Path], wide: bool, state: Callable[[Path], str]) -> _FileStates:
    """The ``state`` of each file; if ``wide``, the stat data of the modules beside them, too."""
    files = set(files)
    return (dict(_neighbours(files)) if wide else {}) | {path: state(path) for path in files}


def written_since(path: Path, since: float) -> bool:
    """Whether the file was written after that time, in seconds since 1970."""
    with suppress(OSError):
        return path.stat().st_mtime > since
    return False


def _digest(path: Path) -> str:
    """The digest of a file, ``_MISSING`` if there is none."""
    try:
        if not S_ISREG(path.stat().st_mode):  # reading a pipe would never end
            return _UNREADABLE
        return hashlib.blake2b(path.read_bytes(), digest_size=12).hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return _MISSING
    except OSError:
        return _UNREADABLE


def _neighbours(files: set[Path]) -> Iterator[tuple[Path, str]]:
    """The stat data of the other modules and packages in the folders of these files."""
    for folder in {path.parent for path in files}:
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                path = Path(entry.path)
                package = not entry.name.startswith((".", "__")) and entry.is_dir()
                if path not in files and (entry.name.endswith(".py") or package):
                    yield path, _stat(path)


def _stat(path: Path) -> str:
    """Time, size and inode of a file: a quick test of whether it may have changed."""
    try:
        stat = path.stat()
    except OSError:
        return _MISSING
    return f"{stat.st_mtime_ns} {stat.st_size} {stat.st_ino}"


class FileWatcher:
    """Watches ``files`` and, if wide, every module in their folders.

    ``stirs`` counts the events that were reported or found by polling.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self.files = frozenset(files)
        self._wide = False
        self._settled_states = _file_states(self.files, self._wide, _digest)
        self._event, self._restart = asyncio.Event(), asyncio.Event()
        self._unwatched = False
        self.stirs = 0

    def follow(self, files: Iterable[Path], wide: bool) -> None:
        """Watch these from now on; the present content of new ones counts as known."""
        before = self._folders()
        self.files, self._wide = frozenset(files), wide
        now = _file_states(self.files, wide, _digest)
        self._settled_states = now | {
            path: self._settled_states[path] for path in now.keys() & self._settled_states.keys()
        }
        if self._folders() != before:
            self._restart.set()

    def add(self, files: Iterable[Path]) -> None:
        """Watch these in addition."""
        self.follow(self.files.union(files), self._wide)

    async def saves(self) -> AsyncGenerator[list[Path], None]:
        """Yields, whenever contents have changed and settled, the files that are missing."""
        async with self._watching():
            last_stats = await asyncio.to_thread(_file_states, self.files, self._wide, _stat)
            while True:
                missing = await self._settled()
                if missing is not None:
                    yield missing
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._event.wait(), _POLL_INTERVAL if self._unwatched else _CHECK_INTERVAL)
                stats = await asyncio.to_thread(_file_states, self.files, self._wide, _stat)
                if stats != last_stats and not self._event.is_set():  # no event: the folder was replaced
                    self._restart.set()
                    self.stirs += 1
                last_stats = stats
                self._event.clear()

    async def _settled(self) -> list[Path] | None:
        """The missing files, once all contents have settled; None if they are unchanged."""
        loop = asyncio.get_running_loop()
        now, since = await self._digests(), loop.time()
        while now != self._settled_states:
            await asyncio.sleep(_SETTLE_TIME)
            previous, now = now, await self._digests()
            if previous != now:
                since = loop.time()
                continue
            changed = {path for path in now if now[path] != self._settled_states.get(path)}
            missing = [path for path in changed if now[path] == _MISSING]
            empty = any(now[path] == _EMPTY for path in changed)
            settle_time = _SETTLE_TIME_MISSING if missing else _SETTLE_TIME_EMPTY if empty else 0.0
            if loop.time() - since >= settle_time:
                self._settled_states = now
                return sorted(missing)
        return None

    async def _digests(self) -> _FileStates:
        return await asyncio.to_thread(_file_states, self.files, self._wide, _digest)

    def _folders(self) -> set[Path]:
        """The folders of the files, and of the targets of symbolic links."""
        return {Path(each).parent for path in self.files for each in (path, os.path.realpath(path))}

    def _is_relevant(self, _: object, path: str) -> bool:
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
            self._restart.set()
            await watching

    async def _watch(self, ended: asyncio.Event) -> None:
        while not ended.is_set():
            self._restart.clear()
            folders = [folder for folder in self._folders() if folder.is_dir()]
            self._unwatched = not folders
            try:
                if folders:
                    await self._note_events(folders)
            # Deleted meanwhile, more than inotify allows, or a name that cannot be decoded.
            except (OSError, RuntimeError, ExceptionGroup) as problem:
                logging.getLogger("uvicorn.error").info("looked at, not watched: %s", problem)
                self._unwatched = True
            await self._restart.wait()

    async def _note_events(self, folders: list[Path]) -> None:
        """Note the events in these folders, until there are others to watch."""
        reported = awatch(
            *folders,
            watch_filter=self._is_relevant,
            step=_STEP,
            debounce=_STEP,
            recursive=False,
            stop_event=self._restart,
        )
        async for _ in reported:
            self.stirs += 1
            self._event.set()


def _importable(name: str) -> bool:
    """Whether a file or folder of that name may be a module or a package."""
    return name.endswith(".py") or (name.isidentifier() and not name.startswith("__"))
