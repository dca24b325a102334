"""One load of the targets: they are imported once, and their Functions described as far as possible without a call."""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ...ops import OPS
from ..config.target import BadTarget, Target, file_of, target_of
from ..protocol.errors import LoadFailed
from ..protocol.source_digest import build
from .discover import Held, held, inherited, unwritten
from .example_inputs import misnamed
from .import_errors import plain_text, shown, trouble
from .importer import imported
from .not_found import NoFunction, of_a_base
from .source_loader import Reading
from .url_names import names_of

_MOST_FILES = 500
MOST_SOURCE = 2**21  # characters of source in a handshake message


_Found = tuple[Target, ModuleType, Held]


@dataclass(frozen=True)
class Entry:
    """A Function and its target module.

    ``stub`` is its catalogue entry, known before any call, ``import_line`` how a test imports it.
    """

    name: str
    group: str
    module: ModuleType
    held: Held
    stub: dict[str, Any]
    import_line: str


@dataclass(frozen=True)
class Load:
    """The result: the entries by name, the user's files that were read, and notes on them.

    ``reading`` has the contents of those files.
    """

    targets: tuple[str, ...]
    entries: dict[str, Entry]
    files: list[str]
    notes: list[str]
    reading: Reading


def load(targets: Sequence[str], again: int = 0) -> Load:
    """Import the targets, in this process and for good; raises ``LoadFailed``."""
    reading = Reading()
    sys.meta_path.insert(0, reading)
    found: list[_Found] = []
    notes: list[str] = []
    for text in targets:
        try:
            target = target_of(text)
            reading.named.add(target.path)
            module, remarks = imported(target, reading)
            functions = held(module, target.attribute, target.name)
        except BaseException as error:  # noqa: BLE001 user code may raise anything, SystemExit included
            files = [file_of(text)] if isinstance(error, BadTarget) else []
            raise LoadFailed(trouble(error, reading, os.getcwd()), files_read(reading, files)) from None
        notes += [each for each in remarks if each not in notes]
        reading.named.add(getattr(module, "__file__", None) or "")
        known = {id(each.function if each.op is None else each.op) for _, _, each in found}
        found += [(target, module, each) for each in functions if id(each.op or each.function) not in known]
    try:
        found = _concrete(found)
    except NoFunction as error:
        raise LoadFailed(trouble(error, reading, os.getcwd()), files_read(reading)) from None
    notes += [each for module in dict.fromkeys(module for _, module, _ in found) for each in misnamed(module)]
    files = files_read(reading, [path for path in reading.named if path.endswith(".py")])
    return Load(tuple(targets), _entries(found, _content(reading, files, again), reading), files, notes, reading)


def _concrete(found: list[_Found]) -> list[_Found]:
    """Leave out abstract base classes that were not asked for by name; raises ``NoFunction`` if only such are left."""
    every = [each.function for _, _, each in found]
    left = [one for one in found if one[0].attribute or not inherited(one[2].function, every)]
    if left and all(unwritten(each.function) and not target.attribute for target, _, each in left):
        target, _, base = left[0]
        raise NoFunction(of_a_base(base.title, unwritten(base.function), target.name))
    return left


def files_read(reading: Reading, first: Sequence[str] = ()) -> list[str]:
    """The real paths of the files to watch, beginning with those given."""
    targets = [path for path in reading.named if path.endswith(".py")]
    paths = [*first, *targets, *reading.read]
    return list(dict.fromkeys(os.path.realpath(path) for path in paths if path))[:_MOST_FILES]


def _content(reading: Reading, files: list[str], again: int) -> str:
    """Hash of all user files that were read, and of ``again``, the number of the reload."""
    digest = hashlib.sha256(f"{build()}\0{again}".encode())
    read = {os.path.realpath(path): data for path, data in reading.read.items()}
    for path in files:
        data = read[path] if path in read else Path(path).read_bytes()
        digest.update(os.fsencode(path) + b"\0" + hashlib.sha256(data).digest())
    return digest.hexdigest()


def _entries(found: list[_Found], content: str, reading: Reading) -> dict[str, Entry]:
    names = names_of([(each.title, each.file) for _, _, each in found], OPS)
    room = MOST_SOURCE // max(len(found), 1)
    entries = {}
    for name, (target, module, each) in zip(names, found, strict=True):
        stub = _stub(name, target.name, each, content, room)
        entries[name] = Entry(name, target.name, module, each, stub, _import_line(module, each, reading))
    return entries


def _import_line(module: ModuleType, each: Held, reading: Reading) -> str:
    """The import line of the Function, or of the op that declares it, for a file in the same folder."""
    bound = each.bound.partition(".")[0]
    home = reading.name_of(module.__name__ if hasattr(module, bound) else each.function.__module__)
    if all(part.isidentifier() for part in home.split(".")):
        return f"from {home} import {bound}"
    return f'{bound} = __import__("{home}", fromlist=["{bound}"]).{bound}'


def _stub(name: str, group: str, each: Held, content: str, room: int) -> dict[str, Any]:
    op = each.op
    return {
        "name": name,
        "title": plain_text(op.title if op else each.title),
        "doc": plain_text(inspect.cleandoc(getattr(each.function, "__doc__", None) or ""))[:room],
        "group": plain_text(group),
        "source": plain_text(op.source if op else each.source)[:room],
        "first_line": op.first_line if op else each.lines.first,
        "line": each.lines.line,
        "file": plain_text(shown(each.file, os.getcwd())),
        "digest": hashlib.sha256(f"{name}\0{content}".encode()).hexdigest()[:16],
        "own": True,
        "declared": op is not None,
        "claim": op.claim if op else "exact",
        "broken": op.broken if op else "",
        "check": op.check if op else "",
        "reference": op.reference if op else "",
    }
