"""The folder that is published: what of it is ours, and how it is written without ever being half a site."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ... import __version__

MANIFEST = "gradloupe.json"  # the files of a folder that are ours


class FolderRefused(Exception):
    """A folder that cannot be written to; the message is a sentence."""


@dataclass(frozen=True)
class Written:
    """How many files there are, how many of them were new or others before, and how many there are no more."""

    files: int
    changed: int
    gone: int
    bytes: int


def our_files(folder: Path) -> set[str]:
    """The files in ``folder`` that were published before; raises ``FolderRefused`` where others are there alone."""
    if folder.exists() and not folder.is_dir():
        raise FolderRefused(f"{folder} is a file; give a folder.")
    try:
        found = json.loads((folder / MANIFEST).read_text("utf-8"))
        return {str(name) for name in found["files"]}
    except FileNotFoundError:
        if folder.is_dir() and any(folder.iterdir()):
            raise FolderRefused(
                f"{folder} is not empty and was not made by gradloupe --publish; give an empty or a new folder."
            ) from None
        return set()
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise FolderRefused(f"{folder / MANIFEST} cannot be read: {problem}. Give an empty or a new folder.") from None


def write_folder(folder: Path, files: Mapping[str, bytes]) -> Written:
    """Write what differs, and remove what is no longer published; files that are not ours stay.

    Everything is written beside the old files before the first of these is replaced: a disk that fills leaves them as
    they were. Raises ``FolderRefused``, and ``OSError``.
    """
    ours = our_files(folder)
    changed = {name: content for name, content in files.items() if _content(folder / name) != content}
    for name in changed:
        if name not in ours and (folder / name).exists():
            raise FolderRefused(f"{folder / name} was not made by gradloupe --publish; move it elsewhere.")
    gone = sorted(name for name in ours - files.keys() if _is_within(folder, name))
    if changed or gone:
        _replace(folder, changed, gone, files.keys(), ours)
    return Written(len(files), len(changed), len(gone), sum(map(len, changed.values())))


def _replace(
    folder: Path, changed: Mapping[str, bytes], gone: Iterable[str], names: Iterable[str], ours: set[str]
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=".gradloupe-", dir=folder))
    try:
        last, both = _manifest(names), _manifest({*names, *ours})
        for name, content in {**changed, MANIFEST: last, f"{MANIFEST}.both": both}.items():
            place = aside / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        os.replace(aside / f"{MANIFEST}.both", folder / MANIFEST)
        for name in sorted(changed, key=lambda name: name.endswith(".html")):  # pages behind what they show
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(aside / name, folder / name)
        for name in gone:
            with suppress(OSError):
                (folder / name).unlink()
                (folder / name).parent.rmdir()  # where it was the last one
        os.replace(aside / MANIFEST, folder / MANIFEST)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _manifest(names: Iterable[str]) -> bytes:
    return json.dumps({"gradloupe": __version__, "files": sorted(names)}, indent=0).encode()


def _content(path: Path) -> bytes | None:
    """What a file holds; None for none. A link is none of ours, wherever it leads."""
    try:
        return None if path.is_symlink() else path.read_bytes()
    except OSError:
        return None


def _is_within(folder: Path, name: str) -> bool:
    """Whether a name leads to a file below the folder: its list may be from a stranger."""
    return not Path(name).is_absolute() and (folder / name).resolve().is_relative_to(folder.resolve())
