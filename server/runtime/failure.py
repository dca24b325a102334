"""Failures of a user's Function: the exception it raised, or a wrong result, as a record to show beside its source."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from ...ops import Op
from ..protocol.listed import with_article

_T = TypeVar("_T")
Phase = Literal["forward", "backward", "surrogate", "double backward"]
_MESSAGE_LIMIT = 2000  # budget: characters of a message that are kept
_INSTALLED = frozenset(("site-packages", "dist-packages"))
NOT_REPRESENTABLE = "NotHeld"  # the device lacks the dtype, or the dtype cannot represent the numbers
TOOK_TOO_LONG = "TookTooLong"  # it did not return within its time
_SPOILED = "Spoiled"  # what it has changed for others is needed to look at it
# Kinds of failure that no Function raised: its result was rejected, or could not be looked at, or it was never called.
REJECTED_KINDS = ("WrongShape", "NoGradient", NOT_REPRESENTABLE, TOOK_TOO_LONG, _SPOILED)


@dataclass(frozen=True)
class Failure:
    """What went wrong, in which phase, and at which line of the op's source (from 1).

    ``elsewhere`` is the file and line of a helper in another file of the same program that raised. ``sentence`` says
    who raised what, or only why where Gradloupe itself rejected the result.
    """

    phase: Phase
    kind: str
    message: str
    line: int | None = None
    elsewhere: InitVar[str] = ""
    sentence: str = field(init=False)

    def __post_init__(self, elsewhere: str) -> None:
        place = f" ({elsewhere})" if elsewhere else ""
        raised = f"{self.phase} raised {self.kind}: {self.message}{place}"
        object.__setattr__(self, "sentence", self.message if self.kind in REJECTED_KINDS else raised)

    @property
    def brief(self) -> str:
        """A few words for the same, without a full stop."""
        return self.first.rstrip(".") if self.kind in REJECTED_KINDS else f"{self.phase} raised {self.kind}"

    @property
    def cause(self) -> str:
        """The first line of the message, without a full stop."""
        return self.message.splitlines()[0].rstrip(".")

    @property
    def raised(self) -> str:
        """The kind and the cause."""
        return f"{self.kind}: {self.cause}"

    @property
    def first(self) -> str:
        """The first line of the sentence."""
        return self.sentence.splitlines()[0]


class FunctionFailed(Exception):
    """Raised when a Function could not be evaluated; carries the ``Failure``."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def unless_backward_fails(ask: Callable[[], _T], instead: Callable[[], _T]) -> tuple[_T, Failure | None]:
    """What is asked, or where backward fails what stands for it, and that failure.

    Raises ``FunctionFailed`` where forward fails.
    """
    try:
        return ask(), None
    except FunctionFailed as error:
        if error.failure.phase == "forward":
            raise
        return instead(), error.failure


def failure_of(error: Exception, op: Op, phase: Phase) -> FunctionFailed:
    """A ``FunctionFailed`` for an exception that the op raised in ``phase``."""
    return FunctionFailed(
        Failure(phase, type(error).__name__, exception_text(error, _MESSAGE_LIMIT) or "no message", *_place(error, op))
    )


def spoiled(changes: str, error: Exception) -> Failure:
    """The failure of a Function under whose ``changes`` to its process Gradloupe itself raises an error."""
    sentence = f"{changes} With that in place nothing can be measured: {describe_exception(error)}."
    return Failure("forward", _SPOILED, sentence)


def describe_result(y: Any, outputs: int) -> str:
    """Words for a call's result that is not the declared tensor: "None", "a list", "2 outputs"."""
    if outputs != 1:
        return f"{outputs} outputs"
    return "None" if y is None else with_article(type(y).__name__)


def exception_text(error: BaseException, limit: int) -> str:
    """The message of an exception, of at most ``limit`` characters; "" if it has none."""
    try:
        return str(error)[:limit].strip()
    except BaseException:  # noqa: BLE001 an exception may be a Function's own
        return ""


def _place(error: Exception, op: Op) -> tuple[int | None, str]:
    """The line in the op's source, and the file and line of the helper it called, if that is in the same program."""
    try:
        file, last = inspect.getsourcefile(op.function) or "", op.first_line + op.source.count("\n")
    except (OSError, TypeError):  # the class was made by hand, and has no source
        return None, ""
    folder = Path(file).parent
    line, elsewhere = None, ""
    for frame, number in traceback.walk_tb(error.__traceback__):  # extract_tb would read all the source files
        name = frame.f_code.co_filename
        if name == file and op.first_line <= number < last:
            line, elsewhere = number - op.first_line + 1, ""
        elif line is not None and Path(name).is_relative_to(folder):
            helper = Path(name).relative_to(folder)
            # Packages in an environment in that folder are not of the same program.
            elsewhere = elsewhere if _INSTALLED & set(helper.parts) else f"{helper}, line {number}"
    return line, elsewhere


_MOST_QUOTED = 300  # budget: the maximum number of characters quoted from an exception


def describe_exception(error: BaseException) -> str:
    """The kind of an exception and the first line of its message, without a full stop."""
    lines = exception_text(error, 4 * _MOST_QUOTED).splitlines()
    message = lines[0][:_MOST_QUOTED].rstrip(".") if lines else "no message"
    return f"{type(error).__name__[:_MOST_QUOTED]}: {message}"
