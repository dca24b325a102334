"""Errors of edited code, raised here with the lines there: tracebacks whose frames are made, not run."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from .guest import FILE, MAX_FRAMES, MAX_MESSAGE, MODULE
from .guest_process import GuestLost, Reply
from .wire import BadReply

_MAX_NAME, _MAX_ARGUMENTS, _MAX_LINE = 100, 50, 10**6


@dataclass(frozen=True)
class EditedFrame:
    """A frame of edited code: its function, which begins at line ``first``, and what of it was running.

    ``position`` are first and last line, and the columns where that begins and ends.
    """

    function: str
    first: int
    position: tuple[int, int, int, int]
    arguments: tuple[str, ...] = ()


def edited_error(reply: Reply) -> Exception:
    """The exception that edited code has raised, with its traceback. Raises ``BadReply``."""
    name, message = reply.get("name", str)[:_MAX_NAME], reply.get("message", str)[:MAX_MESSAGE]
    base = getattr(builtins, reply.get("base", str), None)
    if not (isinstance(base, type) and issubclass(base, Exception)):
        base = Exception
    name = name if name.isidentifier() else base.__name__
    kind = base if base.__name__ == name else type(name, (base,), {})
    if base is KeyError:  # whose text is the source of its message
        message = _unquoted(message)
    try:
        error = kind(message)
    except TypeError:  # a class that takes more than a message
        error = type(name, (Exception,), {})(message)
    if isinstance(error, ModuleNotFoundError):
        error.name = message.partition("'")[2].rpartition("'")[0]
    if isinstance(error, SyntaxError):
        error.filename, error.lineno = FILE, _line(reply.header.get("line") or 1)
    return with_frames(error, [_frame(each) for each in reply.get("frames", list)[:MAX_FRAMES]])


def _unquoted(message: str) -> Any:
    try:
        return ast.literal_eval(message)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return message


def lost_error(lost: GuestLost) -> Exception:
    """The exception for a guest that was lost, with the lines that it was running."""
    error = type(lost)(str(lost))
    frames = [EditedFrame(name, line, (line, line, 0, 0)) for name, line in lost.running[:MAX_FRAMES]]
    return with_frames(error, frames)


def _frame(plain: Any) -> EditedFrame:
    if not isinstance(plain, dict):
        raise BadReply("a frame has no such description")
    names, place = plain.get("arguments"), plain.get("position")
    if type(names) is not list or type(place) is not list or len(place) != 4:
        raise BadReply("a frame has no such description")
    line = _line(plain.get("line"))
    first, last, start, end = (line, line, 0, 0) if None in place else (_line(each) for each in place)
    known = [name for name in names[:_MAX_ARGUMENTS] if type(name) is str and name.isidentifier()]
    position = (first, max(first, last), start, end)
    return EditedFrame(str(plain.get("function"))[:_MAX_NAME], _line(plain.get("first")), position, tuple(known))


def _line(number: Any) -> int:
    if type(number) is not int or not 0 <= number <= _MAX_LINE:
        raise BadReply("a line has no such number")
    return number


def with_frames(error: Exception, frames: Sequence[EditedFrame]) -> Exception:
    """The error with a traceback that has these frames, outermost first; their code does nothing but raise it."""
    namespace: dict[str, Any] = {"__name__": MODULE, "error": error}
    inner: FunctionType | None = None
    for frame in reversed(frames):
        inner = _raising(frame, namespace | {"inner": inner})
    try:
        if inner is None:
            raise error
        inner(*[None] * inner.__code__.co_argcount)
    except Exception as raised:  # noqa: BLE001 it is the error itself
        traceback = raised.__traceback__
        return error.with_traceback(traceback if traceback is None else traceback.tb_next)
    return error


def _raising(frame: EditedFrame, namespace: dict[str, Any]) -> FunctionType:
    """A function that raises the error, or calls the next one, where the frame was."""
    inner: FunctionType | None = namespace["inner"]
    first, last, start, end = frame.position
    what = "raise error" if inner is None else f"inner({', '.join(['None'] * inner.__code__.co_argcount)})"
    names = [f"argument{place}" for place in range(len(frame.arguments))]
    tree = ast.parse(f"def function({', '.join(names)}): {what}")
    definition: Any = tree.body[0]
    for node in ast.walk(definition):
        if hasattr(node, "lineno"):
            node.lineno, node.end_lineno = max(first, 1), max(last, first, 1)  # type: ignore[attr-defined]
            node.col_offset, node.end_col_offset = start, max(end, start if last == first else 0)  # type: ignore[attr-defined]
    definition.lineno = definition.end_lineno = max(frame.first, 1)
    compiled = compile(tree, FILE, "exec", dont_inherit=True)
    code = next(each for each in compiled.co_consts if isinstance(each, CodeType))
    code = code.replace(
        co_name=frame.function, co_firstlineno=max(frame.first, 1), co_varnames=_unique(frame.arguments)
    )
    return FunctionType(code, namespace)


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name if names.index(name) == place else f"{name}{place}" for place, name in enumerate(names))
