"""The state of watched files: a digest of the content, and for quick polls the stat data."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG

Stamp = dict[Path, str]

GONE = ""
UNREADABLE = "unreadable"
EMPTY = hashlib.blake2b(digest_size=12).hexdigest()


def stamp(files: Iterable[Path], wide: bool) -> Stamp:
    """The digest of each file, ``MISSING_FILE`` if none; if ``wide``, the stat data of the modules beside them, too."""
    files = set(files)
    others = dict(_beside(files)) if wide else {}
    return others | {path: _digest(path) for path in files}


def looks(files: Iterable[Path], wide: bool) -> Stamp:
    """Size, time and inode of each file: a quick test of whether anything may have changed."""
    files = set(files)
    return (dict(_beside(files)) if wide else {}) | {path: _look(path) for path in files}


def empty(digest: str) -> bool:
    """Whether that is the digest of an empty file."""
    return digest == EMPTY


def young(path: Path, since: float) -> bool:
    """Whether the file was written after that time, in seconds since 1970."""
    with suppress(OSError):
        return path.stat().st_mtime > since
    return False


def _digest(path: Path) -> str:
    try:
        if not S_ISREG(path.stat().st_mode):  # reading a pipe would never end
            return UNREADABLE
        return hashlib.blake2b(path.read_bytes(), digest_size=12).hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return GONE
    except OSError:
        return UNREADABLE


def _beside(files: set[Path]) -> Iterator[tuple[Path, str]]:
    """The stat data of the other modules and packages in the folders of these files."""
    for folder in {path.parent for path in files}:
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                path = Path(entry.path)
                package = not entry.name.startswith((".", "__")) and entry.is_dir()
                if path not in files and (entry.name.endswith(".py") or package):
                    yield path, _look(path)


def _look(path: Path) -> str:
    try:
        told = path.stat()
    except OSError:
        return GONE
    return f"{told.st_mtime_ns} {told.st_size} {told.st_ino}"
