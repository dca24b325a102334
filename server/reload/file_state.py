"""The state of watched files: a digest of the content, and for quick polls the stat data."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG

FileStates = dict[Path, str]

MISSING_FILE = ""
_UNREADABLE = "unreadable"
EMPTY_DIGEST = hashlib.blake2b(digest_size=12).hexdigest()


def file_digests(files: Iterable[Path], wide: bool) -> FileStates:
    """The digest of each file, ``MISSING_FILE`` if none; if ``wide``, the stat data of the modules beside them, too."""
    files = set(files)
    others = dict(_beside(files)) if wide else {}
    return others | {path: _digest(path) for path in files}


def file_stats(files: Iterable[Path], wide: bool) -> FileStates:
    """Size, time and inode of each file: a quick test of whether anything may have changed."""
    files = set(files)
    return (dict(_beside(files)) if wide else {}) | {path: _look(path) for path in files}


def is_empty_digest(digest: str) -> bool:
    """Whether that is the digest of an empty file."""
    return digest == EMPTY_DIGEST


def written_since(path: Path, since: float) -> bool:
    """Whether the file was written after that time, in seconds since 1970."""
    with suppress(OSError):
        return path.stat().st_mtime > since
    return False


def _digest(path: Path) -> str:
    try:
        if not S_ISREG(path.stat().st_mode):  # reading a pipe would never end
            return _UNREADABLE
        return hashlib.blake2b(path.read_bytes(), digest_size=12).hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return MISSING_FILE
    except OSError:
        return _UNREADABLE


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
        return MISSING_FILE
    return f"{told.st_mtime_ns} {told.st_size} {told.st_ino}"
