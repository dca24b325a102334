"""A target of the command line: a Python file or a module, with or without the name of one thing in it."""

import ast
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from itertools import chain, islice
from pathlib import Path
from pkgutil import iter_modules

from ..numbered_files import NumberedFolders
from ..protocol.listed import closest_match

_MAX_FILES, _MAX_BYTES = 300, 2**20
_BASE, _REGISTERED = "Function", "register_autograd"
_SIGNS = (_BASE.encode(), b"backward", _REGISTERED.encode())  # without any of these a file need not be parsed


def file_with_functions(folder: Path) -> Path | None:
    """The first file in a folder, or below, with a class that inherits from ``Function``; None without one."""
    return next((path for path in islice(files_below(folder), _MAX_FILES) if defines_function(path)), None)


def expand_folders(targets: Iterable[str]) -> tuple[str, ...]:
    """The targets, with the files that define Functions in the place of a folder, and the modules of a package.

    So are files that name one and cannot be read: their import tells why. A folder without any is left out.
    """
    expanded = (
        map(str, _files_with_functions(Path(each))) if os.path.isdir(each) else _modules_of(each) or [each]
        for each in targets
    )
    return tuple(dict.fromkeys(chain.from_iterable(expanded)))


def _files_with_functions(folder: Path) -> list[Path]:
    return [path for path in files_below(folder) if defines_function(path, unreadable=True)]


def _modules_of(package: str) -> list[str]:
    """The modules of a package, by its dotted name, that define Functions; none where it is no package."""
    top, *inner = package.split(".")
    spec = _find_spec(top, os.getcwd()) if _is_dotted_name(package) else None
    folders = [Path(each, *inner) for each in (spec and spec.submodule_search_locations) or ()]
    return [
        ".".join((package, *path.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__")
        for folder in folders
        for path in _files_with_functions(folder)
    ]


def files_below(folder: Path) -> Iterator[Path]:
    """The Python files below a folder that may be modules; those of a folder come before those of its subfolders."""
    for here, inner, names in os.walk(folder):
        inner[:] = sorted(each for each in inner if each.isidentifier() and not each.startswith("__"))
        yield from (Path(here, name) for name in sorted(names) if name.endswith(".py"))


def defines_function(path: Path, unreadable: bool = False) -> bool:
    """Whether a class inherits from ``Function``, or has a forward and a backward, or a custom operator has one.

    Where that is not known, ``unreadable``.
    """
    data = b""
    try:
        if path.stat().st_size > _MAX_BYTES:
            return unreadable
        data = path.read_bytes()
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(data) if any(each in data for each in _SIGNS) else None
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return unreadable and (not data or _BASE.encode() in data)
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)] if tree else []
    return any(map(_is_function, classes)) or (tree is not None and any(map(_registers, ast.walk(tree))))


def _is_function(node: ast.ClassDef) -> bool:
    methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
    return any(_last(base) == _BASE for base in node.bases) or {"forward", "backward"} <= methods


def _registers(node: ast.AST) -> bool:
    """Whether a custom operator is given a backward."""
    return isinstance(node, ast.Call) and _last(node.func) == _REGISTERED


def _last(base: ast.expr) -> str:
    return base.attr if isinstance(base, ast.Attribute) else base.id if isinstance(base, ast.Name) else ""


URL_START = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class BadTarget(Exception):
    """A target that is not there or cannot be read; the message is one sentence that also says what to do."""


@dataclass(frozen=True)
class Target:
    """One target: ``text`` is as written on the command line; ``path`` is absolute, or empty for a ``module``.

    ``attribute`` is the name after the colon, which may be dotted; ``name`` is what pages call the target;
    ``cwd`` is the folder the command was given in.
    """

    text: str
    path: str
    module: str
    attribute: str
    name: str
    cwd: str


def parse_target(text: str) -> Target:
    """Parse a target: ``my_ops.py``, ``my_ops.py:Name``, ``package.module`` or ``package.module:Name``.

    A name that ends in ``.py``, has a slash or exists is a file, any other a module. Nothing is imported. Raises
    ``BadTarget`` where there is no such file or module, or it cannot be read.
    """
    cwd = os.getcwd()
    place, attribute = _split(text, cwd)
    path = os.path.join(cwd, place)
    package = _is_dotted_name(place) and os.path.isfile(os.path.join(path, "__init__.py"))
    if (
        place.endswith(".py")
        or os.sep in place
        or (os.path.exists(path) and not package and not _is_regular(place, cwd))
    ):
        _check_file(place, path)
        return Target(text, os.path.abspath(path), "", attribute, os.path.basename(place), cwd)
    _check_module(place, cwd)
    return Target(text, "", place, attribute, place, cwd)


def target_path(text: str) -> str:
    """The absolute path that a target may stand for, whether or not it is there; empty for a module."""
    place = text if text.endswith(".py") else text.rpartition(":")[0]
    return os.path.abspath(place) if place.endswith(".py") else ""


def course_folders(named: str, targets: Iterable[str]) -> NumberedFolders:
    """Where lessons and exercises of one's own lie: in the folder that is named, else beside the files."""
    if named:
        return NumberedFolders((Path(named).absolute(),), mixed=False)
    files = filter(None, map(target_path, targets))
    return NumberedFolders(tuple(dict.fromkeys(Path(each).parent for each in files)))


def _split(text: str, cwd: str) -> tuple[str, str]:
    """Split a target into its file or module, and the attribute."""
    if URL_START.match(text):
        raise BadTarget(f"{text} is an address; name a file on this machine, such as my_ops.py, or a module.")
    if os.path.isfile(os.path.join(cwd, text)):
        return text, ""
    place, colon, attribute = text.rpartition(":")
    if not colon:
        place, attribute = text, ""
    elif not attribute:
        raise BadTarget(f"No name stands after the colon of {text!r}; write {place}:Name, or {place} for all of it.")
    elif not _is_dotted_name(attribute):
        raise BadTarget(f"{attribute!r} cannot be the name of a class or function; write {place}:Name.")
    if not place.strip() or "\0" in place:
        raise BadTarget(f"{text!r} names no file; name one, such as my_ops.py, or a module, such as package.module.")
    return place, attribute


def _is_dotted_name(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))


def _check_file(place: str, path: str) -> None:
    if os.path.isdir(path):
        raise BadTarget(_folder_message(place.rstrip(os.sep), Path(path)))
    if not os.path.exists(path):
        raise BadTarget(_missing_file_message(place, Path(path)))
    if place.endswith((".pyc", ".pyo")):
        raise BadTarget(f"{place} is compiled; name its source, {_source_of(place)}, or a module.")
    if not place.endswith(".py"):
        raise BadTarget(
            f"{place} is not a Python file; name one that ends in .py, or a module, such as package.module."
        )
    if not os.path.isfile(path):
        raise BadTarget(f"{place} is neither a file nor a folder; name a Python file, such as my_ops.py.")
    if not os.access(path, os.R_OK):
        raise BadTarget(f"{place} may not be read by you; {_permission_advice(place, os.stat(path).st_uid)}.")


def _permission_advice(place: str, owner: int) -> str:
    if owner == os.geteuid():
        return f"allow it (chmod u+r {place}), or name another file"
    return f"it is of user {owner}: start a container with --user {owner}, or let others read it (chmod o+r {place})"


def _source_of(compiled: str) -> str:
    """The path of the source of a compiled file: beside it, or beside ``__pycache__``."""
    folder, name = os.path.split(compiled)
    folder = os.path.dirname(folder) if os.path.basename(folder) == "__pycache__" else folder
    return os.path.join(folder, f"{name.partition('.')[0]}.py")


def _folder_message(place: str, folder: Path) -> str:
    files, likely = _python_files(folder), file_with_functions(folder)
    if not files and likely is None:
        return f"{place} is a folder, and no Python file is in it; name a file, such as my_ops.py."
    named = os.path.join(place, files[0] if likely is None else likely.relative_to(folder))
    return f"{place} is a folder; name a file in it, such as {named}."


def _missing_file_message(place: str, path: Path) -> str:
    if not path.parent.is_dir():
        return f"There is no folder {os.path.dirname(place)}, so no {place}; name a file that is there."
    if path.is_symlink():
        return f"{place} is a link that leads nowhere; fix it, or name a file that is there."
    where = os.path.dirname(place) or "the folder you are in"
    suggestion = closest_match(path.name, _python_files(path.parent))
    if suggestion:
        return f"There is no file {place}; did you mean {os.path.join(os.path.dirname(place), suggestion)}?"
    return f"There is no file {path.name} in {where}; name one that is there, or a module, such as package.module."


def _check_module(module: str, cwd: str) -> None:
    if not _is_dotted_name(module):
        raise BadTarget(
            f"{module!r} is neither a file nor a module; name a file, such as my_ops.py, or package.module."
        )
    top = module.partition(".")[0]
    if _find_spec(top, cwd) is None:
        known = [each.name for each in iter_modules([cwd, *sys.path])]
        suggestion = closest_match(top, known, 0.75)
        meant = f"did you mean {suggestion}{module.removeprefix(top)}?"
        hint = meant if suggestion else "name a file, such as my_ops.py, instead."
        raise BadTarget(f"There is no module {top}, neither in the folder you are in nor installed here; {hint}")


def _find_spec(top: str, cwd: str) -> ModuleSpec | None:
    """The import spec of a top-level module as seen from ``cwd``, without importing it."""
    if top in sys.builtin_module_names:
        return ModuleSpec(top, None)
    spec = PathFinder.find_spec(top, [cwd, *sys.path])
    others = (finder.find_spec(top, None) for finder in sys.meta_path if hasattr(finder, "find_spec"))
    return spec or next((each for each in others if each is not None), None)


def _is_regular(place: str, cwd: str) -> bool:
    """Whether an import of this name finds a regular module or package, not just the folder."""
    spec = _find_spec(place, cwd) if place.isidentifier() else None
    return spec is not None and spec.loader is not None


def _python_files(folder: Path) -> list[str]:
    try:
        return sorted(each.name for each in folder.iterdir() if each.suffix == ".py")
    except OSError:
        return []
