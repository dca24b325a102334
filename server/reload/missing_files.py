"""Load errors that are not in the code: a deleted file, a process that cannot be started."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..config.target import BadTarget, parse_target
from ..protocol.load_error import load_error


def target_files(targets: Iterable[str]) -> frozenset[Path]:
    """The files among the targets of a command line."""
    found = set()
    for target in targets:
        with suppress(BadTarget):  # reported when it is loaded
            found.add(parse_target(target).path)
    return frozenset(Path(path) for path in found if path)


def missing_files_error(files: Sequence[Path], shown: bool) -> dict[str, Any]:
    """The load error for deleted files; ``shown`` says whether there are curves from before."""
    names = ", ".join(path.name for path in files)
    many = len(files) > 1
    put = f"put {'them' if many else 'it'} back"
    stay = f"the last curves stay, {put}" if shown else put
    sentence = f"{names} {'were' if many else 'was'} deleted or moved; {stay}."
    return load_error(sentence, "FileNotFoundError", files[0].name)


def spawn_error(problem: OSError) -> dict[str, Any]:
    """The load error where the system starts no process."""
    return load_error(f"No process can be started to load what was saved ({problem}); save again.", "OSError")
