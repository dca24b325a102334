"""Exceptions that ``Engine`` raises, and worker code behind it."""

import os
from collections.abc import Iterable
from traceback import walk_tb
from typing import NamedTuple, Self

from ..paths import SERVER
from ..schema.op import LoadError, UnsolvedOp


class Refusal(NamedTuple):
    """A parameter of the address, empty where it is none in particular, and the sentence why it is refused."""

    parameter: str
    sentence: str


class BadQuestion(Exception):
    """A question that the op or this machine does not allow; the message says why, and what is possible.

    ``refusals`` has a sentence for each parameter that is at fault; ``parameter`` is the first of them.
    """

    def __init__(self, sentence: str, parameter: str = "") -> None:
        super().__init__(sentence)
        self.refusals: tuple[Refusal, ...] = (Refusal(parameter, sentence),)

    @classmethod
    def of(cls, refusals: Iterable[Refusal]) -> Self:
        """All of these in one."""
        found = tuple(refusals)
        problem = cls(" ".join(each.sentence for each in found))
        problem.refusals = found
        return problem

    @property
    def parameter(self) -> str:
        return self.refusals[0].parameter


class UnknownOp(Exception):
    """There is no op of that name; ``near`` is one whose name is much like it."""

    def __init__(self, said: str, near: str = "") -> None:
        super().__init__(said)
        self.near = near


class Unsolved(Exception):
    """Inference found no call of a user's Function; ``told`` says which argument is at fault and what was tried."""

    def __init__(self, told: UnsolvedOp) -> None:
        super().__init__(told["sentence"])
        self.told = told


class EngineBusy(Exception):
    """The queue of questions is full, or the server is ending."""


class EngineBroken(Exception):
    """The ops cannot be loaded; the message says which and why."""


class EngineFault(Exception):
    """A fault of Gradloupe itself, in the worker, whose log has the traceback."""


class LoadFailed(Exception):
    """The user's file could not be imported: ``trouble`` is the load error, ``files`` are those that were read."""

    def __init__(self, trouble: LoadError, files: list[str]) -> None:
        super().__init__(trouble["sentence"])
        self.trouble, self.files = trouble, files


def describe_internal_error(problem: BaseException) -> str:
    """An exception of our own code, to be reported: its kind, its message, and the last line of ours that it passed."""
    passed = [(frame.f_code.co_filename, line) for frame, line in walk_tb(problem.__traceback__)]
    places = [f" ({os.path.relpath(file, SERVER)}, line {line})" for file, line in passed if file.startswith(SERVER)]
    return f"{type(problem).__name__}: {problem}{''.join(places[-1:])}"


OUTCOMES: dict[type[Exception], str] = {
    BadQuestion: "refused",
    EngineBusy: "busy",
    EngineBroken: "broken",
    EngineFault: "fault",
}
