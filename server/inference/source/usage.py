"""How a Function is called where it is used: in doctests, in its own file, in other modules of its package, in tests.

Files are read, nothing is executed. A call is taken as it is written, through one function that passes it on.
"""

from __future__ import annotations

import ast
import doctest
import inspect
import linecache
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ...config.target import files_below
from .name_binding import ReadingState
from .signature import Signature
from .written_values import UNKNOWN, Parameter, Scope, WrittenTensor, scoped_calls, written_value

# budget: files of a package that are looked at, and the bytes of one.
_MOST_FILES, _MOST_BYTES = 400, 300_000
# bound: the elements of a tensor whose sizes are taken as they are written; of a larger one its ties alone.
_MOST_ELEMENTS = 1024
# The weight of what a call is written with, which outweighs an annotation.
_WEIGHT = 9.0
_TESTS = ("test_*.py", "*_test.py")


@dataclass(frozen=True)
class WrittenCall:
    """What a call is given, one value for each argument, and where it stands."""

    given: tuple[Any, ...]
    where: str

    @property
    def known(self) -> int:
        """How many of its arguments are known."""
        return sum(not isinstance(each, Parameter) and each is not UNKNOWN for each in self.given)


def note_usage(signature: Signature, notes: ReadingState) -> None:
    """Note what the call that is known best says of each argument."""
    names = [each.name for each in signature.arguments if not each.star]
    call = max(written_calls(signature), key=lambda each: each.known, default=None)
    if call is None or not call.known:
        return
    given = list(zip(names, call.given, strict=False))
    sizes = [each.shape for _, each in given if isinstance(each, WrittenTensor) and each.shape]
    small = all(math.prod(size or 1 for size in shape) <= _MOST_ELEMENTS for shape in sizes)
    for name, value in given:
        known, reason = notes.arguments[name], f"it is called so in {call.where}"
        if isinstance(value, WrittenTensor):
            known.supports(value.kind, _WEIGHT, reason)
            known.below = max(known.below, value.below)
            if value.shape is not None:
                known.has_rank(len(value.shape), f"it has {len(value.shape)} dimensions in {call.where}")
            for place, size in enumerate(value.shape or ()):
                if size is not None and small:
                    notes.relations.fixed.setdefault((name, place), size)
        elif value is not UNKNOWN and not isinstance(value, Parameter):
            known.given = value, reason
    for one, other in _tied(given) if not small else ():
        notes.relations.tie(one, other, f"{call.where} calls it with the same size")


def _tied(given: Sequence[tuple[str, Any]]) -> Iterator[tuple[tuple[str, int], tuple[str, int]]]:
    """The dimensions of equal size, one after the other."""
    last = dict[int, tuple[str, int]]()
    for name, value in given:
        for place, size in enumerate(value.shape or () if isinstance(value, WrittenTensor) else ()):
            if size is not None and size > 1:
                if size in last:
                    yield last[size], (name, place)
                last[size] = name, place


def frozen_arguments(signature: Signature) -> dict[str, str]:
    """The arguments that every call holds back from getting a gradient, each with the reason."""
    calls = written_calls(signature)
    found = dict[str, str]()
    for place, argument in enumerate(signature.arguments):
        passed = [(each.given[place], each.where) for each in calls if place < len(each.given)]
        passed = [(value, where) for value, where in passed if not _says_nothing(value)]
        if passed and all(isinstance(value, WrittenTensor) and value.frozen for value, _ in passed):
            value, where = passed[0]
            found[argument.name] = f"in {where} it {value.frozen}"
    return found


def _says_nothing(value: Any) -> bool:
    """Whether a value is written neither to get a gradient nor not to: what a test makes up, or what callers know."""
    plain = isinstance(value, WrittenTensor) and value.shape is not None and not (value.frozen or value.learned)
    return plain or isinstance(value, Parameter)


def written_calls(signature: Signature) -> list[WrittenCall]:
    """The calls of a Function in doctests, in its file, and in the other files of its package and its tests."""
    function = getattr(signature.call, "__self__", signature.call)
    name, file = getattr(function, "__name__", ""), _file_of(function)
    if not name or not file:
        return []
    seeker = _Seeker(name, signature.plain)
    seeker.read("".join(linecache.getlines(file)), Path(file).name)
    for each in _beside(file):
        if seeker.is_named_in(text := _text(each)):
            seeker.read(text, Path(each).name)
    return seeker.calls()


class _Seeker:
    """Looks for the calls of one Function, and for the functions that pass their arguments on to it."""

    def __init__(self, name: str, plain: bool) -> None:
        self._called = {name} if plain else {f"{name}.apply"}
        self._found: list[tuple[ast.Call, Scope, str]] = []
        self._passing: dict[str, tuple[Sequence[ast.expr], Scope]] = {}

    def is_named_in(self, text: str) -> bool:
        """Whether a text may call it, or a function that passes on to it."""
        names = (each for each in (*self._called, *self._passing) if each in text)
        return any(re.search(rf"\b{re.escape(each)}\b", text) for each in names)

    def read(self, text: str, where: str) -> None:
        """Take the calls in a text, and those in the doctests of its docstrings."""
        tree = _parsed(text)
        if tree is None:
            return
        calls = scoped_calls(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and ast.unparse(node.value) in self._called:
                self._called |= {each.id for each in node.targets if isinstance(each, ast.Name)}
        for call, scope in calls:
            if scope.is_plain_function and (given := self._given(call)) is not None:
                self._passing.setdefault(scope.node.name, (given, scope))  # type: ignore[attr-defined]
        self._found += [(call, scope, f"{where}, line {call.lineno}") for call, scope in calls]
        for each in ast.walk(tree):
            if isinstance(each, ast.Module | ast.ClassDef | ast.FunctionDef):
                example = _parsed(_examples(ast.get_docstring(each) or ""))
                named = f"the docstring of {getattr(each, 'name', where)}"
                self._found += [(call, scope, named) for call, scope in scoped_calls(example)] if example else []

    def calls(self) -> list[WrittenCall]:
        """What was found, those with the Function itself first."""
        found = list[WrittenCall]()
        for call, scope, where in self._found:
            if (given := self._given(call)) is not None:
                found.append(_written(given, scope, where))
            elif (name := ast.unparse(call.func).rpartition(".")[2]) in self._passing:
                passed, inside = self._passing[name]
                found.append(_written(passed, replace(inside, given=_bound(call, inside, scope)), where))
        return found

    def _given(self, call: ast.Call) -> Sequence[ast.expr] | None:
        """The arguments with which a call calls the Function, itself or by gradcheck; None if it calls another."""
        name = ast.unparse(call.func)
        if any(name == each or name.endswith(f".{each}") for each in self._called):
            return call.args
        checked = name.rpartition(".")[2] in ("gradcheck", "gradgradcheck") and len(call.args) > 1
        return [ast.Starred(call.args[1])] if checked and ast.unparse(call.args[0]) in self._called else None


def _written(given: Sequence[ast.expr], scope: Scope, where: str) -> WrittenCall:
    values = list[Any]()
    for each in given:
        value = written_value(each.value if isinstance(each, ast.Starred) else each, scope)
        if isinstance(each, ast.Starred) and not isinstance(value, tuple | list):
            break
        values += value if isinstance(each, ast.Starred) else [value]
    return WrittenCall(tuple(values), where)


def _bound(call: ast.Call, inside: Scope, scope: Scope) -> dict[str, Any]:
    """What a call gives to the parameters of a function that passes them on."""
    written = inside.defaults | dict(zip(inside.parameters, call.args, strict=False))
    written |= {each.arg: each.value for each in call.keywords if each.arg}
    return {name: written_value(each, scope) for name, each in written.items()}


def _examples(doc: str) -> str:
    try:
        return "".join(each.source for each in doctest.DocTestParser().get_examples(doc))
    except ValueError:
        return ""


def _file_of(function: Any) -> str:
    try:
        return inspect.getsourcefile(function) or ""
    except (TypeError, OSError):
        return ""


@lru_cache(maxsize=16)
def _beside(file: str) -> tuple[str, ...]:
    """The other files of the package that a file belongs to, the nearest first, and those of its tests."""
    path = Path(file)
    if not path.is_absolute() or not path.is_file():
        return ()
    root = path.parent
    while (root / "__init__.py").is_file() and root != root.parent:
        root = root.parent
    package = root / path.relative_to(root).parts[0]
    globs = [(root, each) for each in _TESTS]
    globs = [(path.parent, "*.py"), *globs] if package.is_dir() else globs
    near = chain.from_iterable(sorted(folder.glob(pattern)) for folder, pattern in globs)
    below = chain.from_iterable(map(files_below, (root / "tests", root / "test", package)))
    files = (str(each) for each in dict.fromkeys(chain(near, below)) if each != path)
    return tuple(islice(files, _MOST_FILES))


def _text(file: str) -> str:
    try:
        found = Path(file).stat()
        return _read(file, found.st_mtime_ns, found.st_size) if found.st_size <= _MOST_BYTES else ""
    except OSError:
        return ""


@lru_cache(maxsize=_MOST_FILES)
def _read(file: str, changed: int, size: int) -> str:
    return Path(file).read_text(encoding="utf-8", errors="replace")


@lru_cache(maxsize=16)
def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
