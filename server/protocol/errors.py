"""Why there is no answer: what the door raises."""

from __future__ import annotations

from typing import Any


class BadQuestion(Exception):
    """The op, or this machine, cannot be asked that; the message says why and what can be asked."""


class NoOp(Exception):
    """There is no op of that name."""


class Unsolved(Exception):
    """No call of a visitor's Function was found; ``told`` says which argument is at fault and what was tried."""

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__(told["sentence"])
        self.told = told


class EngineBusy(Exception):
    """More questions wait than can be answered in time."""


class EngineBroken(Exception):
    """The ops cannot be loaded; the message says which and why."""


class EngineFault(Exception):
    """A fault of Gradloupe itself, in the worker, whose log has the traceback."""


class LoadFailed(Exception):
    """The visitor's file could not be imported: ``trouble`` says why and where, ``files`` are those that were read."""

    def __init__(self, trouble: dict[str, Any], files: list[str]) -> None:
        super().__init__(trouble["sentence"])
        self.trouble, self.files = trouble, files


OUTCOMES = {BadQuestion: "refused", EngineBusy: "busy", EngineBroken: "broken", EngineFault: "fault"}
