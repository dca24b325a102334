"""Errors of edited code, raised here with the lines there: tracebacks whose frames are made, not run."""

from __future__ import annotations
import __future__

import ast
import builtins
import copy
import linecache
from collections.abc import Sequence
from functools import lru_cache
from types import FunctionType, TracebackType
from typing import Any

from typing_extensions import TypedDict

from ..protocol.fits import fits
from .guest import FILE, MAX_FRAMES, MAX_MESSAGE, MODULE
from .guest_process import GuestLost
from .wire import BadReply

_MAX_NAME, _MAX_LINE = 100, 10**6
Definition = ast.FunctionDef | ast.ClassDef


class Place(TypedDict):
    """A frame of edited code: its function, the line where that begins, and what of it was running.

    That is ``position``: first and last line, and the columns where it begins and ends.
    """

    function: str
    first: int
    position: tuple[int, int, int, int]


class Raised(TypedDict):
    """An error of edited code: its class and the class of Python's that it derives from, and where it was raised."""

    name: str
    base: str
    message: str
    line: int | None
    frames: list[Place]


def edited_error(raised: Any) -> Exception:
    """The exception that edited code has raised, with its traceback. Raises ``BadReply``."""
    if not fits(raised, Raised):
        raise BadReply("an error has no such description")
    name, message = raised["name"][:_MAX_NAME], raised["message"][:MAX_MESSAGE]
    base = getattr(builtins, raised["base"], None)
    if not (isinstance(base, type) and issubclass(base, Exception)) or issubclass(base, ExceptionGroup):
        base = Exception
    made = {"__init__": lambda self: None, "__str__": lambda self: message, "__module__": base.__module__}
    error: Exception = type(name if name.isidentifier() else base.__name__, (base,), made)()
    if isinstance(error, ModuleNotFoundError):
        error.name = message.partition("'")[2].rpartition("'")[0]
    if isinstance(error, SyntaxError):
        error.msg, error.filename, error.lineno = message, FILE, raised["line"] or 1
    return _with_frames(error, raised["frames"][:MAX_FRAMES])


def lost_error(lost: GuestLost) -> Exception:
    """The exception for a guest that was lost, with the lines that it was running."""
    running = [(name, line, (line, line, 0, 0)) for name, line in lost.running[:MAX_FRAMES]]
    return _with_frames(
        type(lost)(str(lost)), [{"function": name, "first": line, "position": at} for name, line, at in running]
    )


def _with_frames(error: Exception, frames: Sequence[Place]) -> Exception:
    """The error with a traceback that has these frames, outermost first; their code does nothing but raise it."""
    definitions = _definitions("".join(linecache.getlines(FILE)))
    inner: TracebackType | None = None
    for frame in reversed(frames):
        definition = definitions.get(frame["first"])
        function = inert(definition, {"__name__": MODULE, "error": error}, frame)
        try:
            function(*[None] * function.__code__.co_argcount)
        except Exception as own:  # noqa: BLE001 it is the error itself
            made: Any = own.__traceback__
            inner = TracebackType(inner, made.tb_next.tb_frame, made.tb_next.tb_lasti, made.tb_next.tb_lineno)
    return error.with_traceback(inner)


@lru_cache(1)
def _definitions(text: str) -> dict[int, Definition]:
    return definitions_by_line(ast.parse(text))


def definitions_by_line(tree: ast.Module) -> dict[int, Definition]:
    """Functions and classes of a text by the line where each begins, decorators included."""
    return {first_line(node): node for node in ast.walk(tree) if isinstance(node, Definition)}


def first_line(node: Definition) -> int:
    """The line where a definition begins, decorators included."""
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


def inert(node: ast.stmt | None, namespace: dict[str, Any], place: Place | None = None) -> FunctionType:
    """A function with name, parameters and lines of a definition, and no code of it; its defaults are all None.

    It raises, at a ``place`` the ``error`` of the namespace. Raises ``BadReply`` for a place that cannot be.
    """
    known = copy.copy(node) if isinstance(node, ast.FunctionDef) else ast.parse("def unknown(): ...").body[0]
    assert isinstance(known, ast.FunctionDef)
    documented, known.args = ast.get_docstring(known), copy.deepcopy(known.args)
    first, last, start, end = place["position"] if place else (known.lineno, known.lineno, 0, 0)
    begins = place["first"] if place else first_line(known)
    if not all(0 <= each <= _MAX_LINE for each in (begins, first, last, start, end)):
        raise BadReply("a line has no such number")
    known.decorator_list, known.lineno, known.end_lineno = [], max(begins, 1), max(begins, last, 1)
    known.args.defaults = [ast.Constant(None) for _ in known.args.defaults]
    known.args.kw_defaults = [ast.Constant(None) if each or place else None for each in known.args.kw_defaults]
    known.body = ast.parse("raise error" if place else "raise NotImplementedError").body
    for part in ast.walk(known.body[0]):
        vars(part).update(lineno=max(first, 1), end_lineno=max(first, last, 1), col_offset=start)
        vars(part).update(end_col_offset=end if last > first else max(start, end))
    # Annotations stay text, and are never evaluated.
    flags, made = __future__.annotations.compiler_flag, dict[str, Any]()
    tree = ast.fix_missing_locations(ast.Module([known], []))
    exec(compile(tree, FILE, "exec", flags=flags, dont_inherit=True), namespace, made)  # noqa: S102 a definition alone
    function: FunctionType = made[known.name]
    name = place["function"][:_MAX_NAME] if place else known.name
    function.__code__ = function.__code__.replace(co_name=name)
    function.__doc__ = documented
    return function
