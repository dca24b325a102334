"""The command ``gradloupe TARGET --publish FOLDER``: measures, writes the folder without its ever being half a site,
says what it did; its exit code.
"""

import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ... import __version__
from ..config.settings import Settings
from ..html.course import read_course
from ..numbered_files import NumberedFolders
from ..output import progress_bar
from ..protocol.errors import EngineBroken, EngineBusy
from ..supervisor.engine import Engine
from ..supervisor.worker_process import WorkerProcess
from ..url.numbers import BadQuery
from .page import Published
from .site import NothingPublished, planned_site, site_files

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


def run_publish(process: WorkerProcess, chosen: Settings, folders: NumberedFolders) -> int:
    """Publish what ``process`` imports into the folder that is ``chosen``; 0, or 2 where it cannot be.

    Raises ``KeyboardInterrupt``, and then nothing is written.
    """
    folder, began = Path(chosen.publish), time.monotonic()
    try:
        our_files(folder)
        files, entries = asyncio.run(_measured(process, chosen, folders))
        written = write_folder(folder, files)
    except (FolderRefused, NothingPublished, EngineBroken, BadQuery) as refused:
        sys.stderr.write(f"gradloupe: {refused}\n")
        return 2
    except EngineBusy:  # cancelled while it waited for an answer
        raise KeyboardInterrupt from None
    except OSError as problem:
        sys.stderr.write(f"gradloupe: {folder} cannot be written: {problem.strerror or problem}. It is as it was.\n")
        return 2
    _say(folder, written, entries, time.monotonic() - began)
    return 0


async def _measured(
    process: WorkerProcess, chosen: Settings, folders: NumberedFolders
) -> tuple[dict[str, bytes], tuple[Published, ...]]:
    engine = Engine(process)
    await engine.connect()
    try:
        plan = await planned_site(engine, read_course(folders), chosen.op, chosen.sliders)
        count = len(plan.functions)
        taught = len(plan.lessons)
        lessons = f" and {taught} lesson{'s' * (taught != 1)}" if taught else ""
        sys.stderr.write(f"{count} Function{'s' * (count != 1)}{lessons}: {plan.questions} sections and pictures.\n")
        title = ", ".join(Path(each).name for each in chosen.targets) or "Gradloupe"
        with progress_bar("measuring", plan.questions, sys.stderr.isatty()) as update:
            return await site_files(engine, plan, title, lambda: update(advance=1))
    finally:
        await engine.close()


def _say(folder: Path, written: Written, entries: tuple[Published, ...], seconds: float) -> None:
    for each in entries:
        if each.plan.why:
            name = each.plan.about["stub"]["name"]
            sys.stderr.write(f"{name} has a page that says why it cannot be called: {each.plan.why}\n")
    if not written.changed and not written.gone:
        print(f"{folder}/ is as it was: none of its {written.files} files has changed, in {seconds:.1f} s.")
        return
    gone = f", {written.gone} are gone" if written.gone else ""
    size = f"{written.bytes / 1e6:.1f} MB"
    print(f"Wrote {written.changed} of {written.files} files to {folder}/, {size}{gone}, in {seconds:.1f} s.")
    print(f"Open {folder / 'index.html'}, or put the folder on any web server.")


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
