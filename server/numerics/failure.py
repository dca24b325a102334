"""A Function that failed while it was looked at: a result to show, not an error of ours."""

from __future__ import annotations

import inspect
import traceback
from dataclasses import dataclass
from typing import Literal

from ...ops import Op

Phase = Literal["forward", "backward", "surrogate", "double backward"]
MESSAGE_LIMIT = 2000


@dataclass(frozen=True)
class Failure:
    """What went wrong, in which part of the op, and at which line of its source (from 1)."""

    phase: Phase
    kind: str
    message: str
    line: int | None = None


class FunctionFailed(Exception):
    """Raised where a Function could not be evaluated; carries the ``Failure`` to show."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def failure_of(error: Exception, op: Op, phase: Phase) -> FunctionFailed:
    """The exception a Function raised, as something to show beside its source."""
    return FunctionFailed(Failure(phase, type(error).__name__, _message(error), _line(error, op)))


def _message(error: Exception) -> str:
    try:
        return str(error)[:MESSAGE_LIMIT].strip() or "no message"
    except Exception:  # noqa: BLE001 an exception may be a Function's own
        return "no message"


def _line(error: Exception, op: Op) -> int | None:
    try:
        file, last = inspect.getsourcefile(op.function), op.first_line + op.source.count("\n")
    except (OSError, TypeError):  # the class was made by hand, and has no source
        return None
    inside = [
        frame.lineno - op.first_line + 1
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == file and frame.lineno is not None and op.first_line <= frame.lineno < last
    ]
    return inside[-1] if inside else None
