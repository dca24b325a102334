"""Blame: which arguments caused an error, from the expression in the traceback that raised it; and
whether any others would avoid it.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import PurePath
from types import CodeType, FrameType, TracebackType
from typing import Any

import torch

from ...runtime.compilers import is_of_a_compiler
from ...runtime.timeouts import TookTooLong
from ..source.torch_signatures import is_misspelled
from .trial import UnusableCall

_OWN_PACKAGE = __name__.rsplit(".", 3)[0]  # the server; what the gallery holds is a user's, too
_Places = frozenset[int]


@dataclass(frozen=True)
class Blame:
    """The positions of the arguments that caused an ``error``.

    ``own`` says that the user's code raises it itself, with raise or assert; ``always`` that this raise is reached
    for any arguments. ``reached`` are the line numbers of the user's frames, outermost first: of two errors the greater
    one came further.
    """

    error: BaseException
    places: _Places
    backward: bool = False
    own: bool = False
    always: bool = False
    reached: tuple[int, ...] = ()

    @cached_property
    def message(self) -> str:
        """What was raised, on one line; of a kernel that does not compile, without its source."""
        text = " ".join(str(getattr(self.error, "error_message", "") or self.error).split())
        kind = type(self.error).__name__
        if isinstance(self.error, UnusableCall | TookTooLong):
            return text
        return f"{kind}: {text}" if text else kind


def blame(error: BaseException, names: Sequence[str], given: Sequence[Any]) -> Blame:
    """Find the arguments to blame for an error, from their names and the values they were given."""
    found, backward, own = frozenset[int](), False, False
    always, unconditional = False, True
    reached = list[int]()
    caller: dict[str, _Places] | None = None
    for frame, line, node in _frames(error.__traceback__):
        reached.append(line)
        backward = backward or frame.f_code.co_name in ("backward", "vjp")
        known = _origins(frame, names, given, caller)
        own = always = False
        unconditional = unconditional and _always_reaches(frame)
        if node is None:
            continue
        own = isinstance(node.body[0], ast.Raise | ast.Assert)
        always = unconditional and isinstance(node.body[0], ast.Raise)
        node = ast.Module([*node.body, *_enclosing_conditions(frame)], []) if own else node
        here = frozenset[int]().union(*(known.get(name, frozenset()) for name in _names(node)))
        found = here or found
        caller = _passed_origins(node, known, here)
    return Blame(error, found, backward, own, always, (int(backward), *reached))


def _frames(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int, ast.Module | None]]:
    """The frames of user code, outermost first, each with its line and the expression that was evaluated."""
    while traceback is not None:
        frame = traceback.tb_frame
        if is_user_frame(frame):
            yield frame, traceback.tb_lineno, _expression(frame.f_code, traceback.tb_lasti)
        traceback = traceback.tb_next


def is_user_frame(frame: FrameType) -> bool:
    """Whether a frame is of user code, neither torch's nor ours."""
    module = str(frame.f_globals.get("__name__", ""))
    return not module.startswith(_OWN_PACKAGE) and module.split(".")[0] != "torch"


def _always_reaches(frame: FrameType) -> bool:
    """Whether a function reaches the current line for any arguments: no branch, loop or return before it."""
    forks = ast.If | ast.For | ast.While | ast.Try | ast.Match
    tree, line = _tree(frame.f_code), frame.f_lineno or 0  # None behind the last line
    inside = any(isinstance(each, forks) and each.lineno <= line <= (each.end_lineno or 0) for each in tree)
    before = any(isinstance(each, ast.Return) and each.lineno < line for each in tree)
    return bool(tree) and not inside and not before


def _expression(code: CodeType, lasti: int) -> ast.Module | None:
    """The expression or statement that was being evaluated."""
    positions = list(code.co_positions())
    if lasti < 0 or lasti // 2 >= len(positions):
        return None
    first, last, start, end = positions[lasti // 2]
    if first is None or last is None or start is None or end is None:
        return None
    lines = [linecache.getline(code.co_filename, line).encode() for line in range(first, last + 1)]
    if not lines or not all(lines):
        return None
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    text = b"".join(lines).decode(errors="replace").strip()
    for attempt in (text, f"({text})", f"{text}\n    pass"):
        try:
            tree = ast.parse(attempt)
            if tree.body:
                return tree
        except (SyntaxError, ValueError):
            continue
    return None


def _origins(
    frame: FrameType, names: Sequence[str], given: Sequence[Any], caller: dict[str, _Places] | None
) -> dict[str, _Places]:
    """For each local name the arguments it derives from: by identity, by name, or by assignment."""
    known: dict[str, _Places] = {}
    caller = _parameter_origins(frame.f_code, caller)
    objects = {id(one): place for place, one in enumerate(given) if isinstance(one, torch.Tensor | list | dict | tuple)}
    for name, value in frame.f_locals.items():
        place = objects.get(id(value))
        if place is not None and not (isinstance(value, tuple) and not value):
            known[name] = frozenset([place])
        elif name in caller:
            known[name] = caller[name]
        elif name in names and frame.f_code.co_name in ("forward", "backward", "setup_context", "vjp"):
            known[name] = frozenset([list(names).index(name)])
    starred = [place for place, name in enumerate(names) if re.sub(r"\d+$", "", name) in ("args", "inputs", "tensors")]
    for name in ("args", "inputs", "tensors"):
        if starred and name in frame.f_locals:
            known.setdefault(name, frozenset(starred))
    for place, name in enumerate(names):
        known.setdefault(f".{name}", frozenset([place]))
    return _through_assignments(frame, known)


def _parameter_origins(code: CodeType, caller: dict[str, _Places] | None) -> dict[str, _Places]:
    """The arguments that the parameters of a called function derive from."""
    if caller is None:
        return {}
    names = code.co_varnames[: code.co_argcount]
    names = names[1:] if names[:1] and names[0] in ("self", "cls", "ctx") else names
    found = {name: caller.get(name, caller.get(f"#{place}", frozenset())) for place, name in enumerate(names)}
    return {name: places for name, places in found.items() if places}


def _through_assignments(frame: FrameType, known: dict[str, _Places]) -> dict[str, _Places]:
    """Propagate through the assignments before the line of the error."""
    for node in _assignments(frame.f_code):
        if node.lineno > (frame.f_lineno or 0):
            break
        value = node.iter if isinstance(node, ast.For) else node.value
        here = frozenset[int]().union(*(known.get(name, frozenset()) for name in (_names(value) if value else ())))
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in (each for some in targets for each in ast.walk(some) if isinstance(each, ast.Name)):
            if here and not (target.id in known and known[target.id] <= here):
                known[target.id] = (
                    known.get(target.id, frozenset()) | here if len(known.get(target.id, ())) != 1 else known[target.id]
                )
    return known


@lru_cache(maxsize=256)
def _tree(code: CodeType) -> tuple[ast.AST, ...]:
    """All nodes of a function, with the line numbers of its file."""
    try:
        lines, first = inspect.getsourcelines(code)
        tree = ast.parse(textwrap.dedent("".join(lines)))
        ast.increment_lineno(tree, max(first, 1) - 1)
    except (OSError, TypeError, SyntaxError, ValueError, IndexError):
        return ()
    return tuple(ast.walk(tree))


@lru_cache(maxsize=256)
def _assignments(code: CodeType) -> tuple[Any, ...]:
    """The assignments in a function, in the order of its lines."""
    kinds = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For
    return tuple(sorted((node for node in _tree(code) if isinstance(node, kinds)), key=lambda node: node.lineno))


def _enclosing_conditions(frame: FrameType) -> list[ast.stmt]:
    """The conditions of the ifs around the current line of a frame."""
    inside = [
        node
        for node in _tree(frame.f_code)
        if isinstance(node, ast.If) and node.lineno <= (frame.f_lineno or 0) <= (node.end_lineno or 0)
    ]
    return [ast.Expr(node.test) for node in inside]


def _names(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            yield each.id
        elif isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id in ("ctx", "self"):
            yield f".{each.attr}"


def _passed_origins(node: ast.AST, known: dict[str, _Places], here: _Places) -> dict[str, _Places] | None:
    """The arguments that a call passes on, by keyword or ``#position``; "*" for all of them."""
    call = (
        node.body[0].value
        if isinstance(node, ast.Module) and node.body and isinstance(node.body[0], ast.Expr)
        else None
    )
    if not isinstance(call, ast.Call):
        return None
    passed = {
        each.arg: frozenset[int]().union(*(known.get(name, frozenset()) for name in _names(each.value)))
        for each in call.keywords
        if each.arg
    }
    for place, each in enumerate(call.args):
        passed[f"#{place}"] = frozenset[int]().union(*(known.get(name, frozenset()) for name in _names(each)))
    passed["*"] = here
    return passed


# A missing attribute of a tensor may mean that the argument should be another object, unless the name is nearly that of
# an attribute of tensors. A missing attribute of a ctx, module or type is always an error of the source.
_UNKNOWN = re.compile(r"^'(?:Tensor|Parameter)' object has no attribute '(\w+)'")
_MISSPELLED = re.compile(
    r"^(?:'\w+Backward' object|module '[\w.]+'|type object '\w+') has no attribute '|^`[\w.]+` was removed"
)


def is_source_error(blamed: Blame) -> bool:
    """Whether an error is caused by the source itself, so that no argument avoids it."""
    error = blamed.error
    if isinstance(error, UnboundLocalError):
        return not blamed.places
    if isinstance(error, AttributeError):
        text = str(error)
        unknown = _UNKNOWN.match(text)
        return bool(_MISSPELLED.match(text) or (unknown and (not blamed.places or is_misspelled(unknown[1]))))
    return isinstance(error, NameError | SyntaxError | ImportError | SystemExit) or blamed.always


def raised_while_compiling(error: BaseException) -> bool:
    """Whether it was raised inside a compiler."""
    traceback = error.__traceback__
    while isinstance(traceback, TracebackType):
        if is_of_a_compiler(str(traceback.tb_frame.f_globals.get("__name__", ""))):
            return True
        traceback = traceback.tb_next
    return False


def user_location(error: BaseException) -> str:
    """The innermost line of user code in the traceback, such as ``my_ops.py, line 12``; "" if there is none."""
    found, traceback = "", error.__traceback__
    while isinstance(traceback, TracebackType):
        if is_user_frame(traceback.tb_frame):
            found = f"{PurePath(traceback.tb_frame.f_code.co_filename).name}, line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    return found
