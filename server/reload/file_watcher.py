"""File watcher: reports when contents have changed and settled, whatever an editor's way of saving."""

import asyncio
import hashlib
import os
import time
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG

_LOOK_INTERVAL = 0.04  # seconds between two looks at the files
_LOOK_SHARE = 0.05  # of the time is spent with looking at most, where they are many
_LONGEST_PAUSE = 1.0  # seconds until the next look, even if the last one had to wait for a processor
_SETTLE_TIME = 0.015  # seconds without a change before the contents count as saved
_SETTLE_TIME_EMPTY = 0.15  # the same for an empty file: most are about to be written
_SETTLE_TIME_MISSING = 0.5  # the same for a missing file
_STAMP_GRAIN = 2.0  # seconds between two time stamps of the coarsest file system
_MISSING, _UNREADABLE = "", "unreadable"
_EMPTY = hashlib.blake2b(digest_size=12).hexdigest()


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


def _neighbours(files: frozenset[Path]) -> Iterator[Path]:
    """The other modules and packages in the folders of these files."""
    for folder in {path.parent for path in files}:
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                path = Path(entry.path)
                package = not entry.name.startswith((".", "__")) and entry.is_dir()
                if path not in files and (entry.name.endswith(".py") or package):
                    yield path


def _stat(path: Path) -> tuple[str, bool]:
    """Times, size and inode of a file, and whether it may be written again without any of them being another."""
    try:
        stat = path.stat()
    except OSError:
        return _MISSING, False
    young = time.time() - max(stat.st_mtime, stat.st_ctime) < _STAMP_GRAIN
    return f"{stat.st_mtime_ns} {stat.st_ctime_ns} {stat.st_size} {stat.st_ino}", young


class FileWatcher:
    """Watches ``files`` and, if wide, every module in their folders.

    It looks itself: on network file systems and on drives of another system there are no events. ``stirs`` counts the
    changes it has seen, whether or not they have settled.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self.files = frozenset(files)
        self._wide = False
        self._seen: dict[Path, tuple[str, str]] = {}  # stat data and digest of each file when it was looked at last
        self.stirs = 0
        self._settled_states = self._states()

    def follow(self, files: Iterable[Path], wide: bool) -> None:
        """Watch these from now on; the present content of new ones counts as known."""
        self.files, self._wide = frozenset(files), wide
        now = self._states()
        self._settled_states = now | {
            path: self._settled_states[path] for path in now.keys() & self._settled_states.keys()
        }

    def add(self, files: Iterable[Path]) -> None:
        """Watch these in addition."""
        self.follow(self.files.union(files), self._wide)

    async def saves(self) -> AsyncGenerator[list[Path], None]:
        """Yields, whenever contents have changed and settled, the files that are missing."""
        while True:
            began = time.monotonic()
            now = await asyncio.to_thread(self._states)
            took = time.monotonic() - began
            missing = await self._settled(now)
            if missing is not None:
                yield missing
            await asyncio.sleep(min(max(_LOOK_INTERVAL, took / _LOOK_SHARE), _LONGEST_PAUSE))

    async def _settled(self, now: dict[Path, str]) -> list[Path] | None:
        """The missing files, once all contents have settled; None if they are unchanged."""
        since = time.monotonic()
        while now != self._settled_states:
            await asyncio.sleep(_SETTLE_TIME)
            previous, now = now, await asyncio.to_thread(self._states)
            if previous != now:
                since = time.monotonic()
                continue
            changed = {path for path in now if now[path] != self._settled_states.get(path)}
            missing = [path for path in changed if now[path] == _MISSING]
            empty = any(now[path] == _EMPTY for path in changed)
            settle_time = _SETTLE_TIME_MISSING if missing else _SETTLE_TIME_EMPTY if empty else 0.0
            if time.monotonic() - since >= settle_time:
                self._settled_states = now
                return sorted(missing)
        return None

    def _states(self) -> dict[Path, str]:
        """The digest of each file; if wide, the stat data of the modules beside them, too."""
        files, wide = self.files, self._wide
        beside = {path: _stat(path)[0] for path in _neighbours(files)} if wide else {}
        return beside | {path: self._state(path) for path in files}

    def _state(self, path: Path) -> str:
        """The digest of a file, which is read again only where it may be another."""
        stat, young = _stat(path)
        seen = self._seen.get(path)
        if seen is not None and seen[0] == stat and not young:
            return seen[1]
        self._seen[path] = now = (stat, _digest(path))
        if seen is not None and seen != now:
            self.stirs += 1
        return now[1]
