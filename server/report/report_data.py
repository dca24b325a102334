"""The data of a report: the results of all Functions, and how the run went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..protocol.frames import Frame
from .result import CheckResult


@dataclass(frozen=True)
class ExaminedFunction:
    """One Function: its result and description, and the answers for its curves and its contract X-ray.

    Where no call was found, ``op`` is what is known without calling it; ``curves`` and ``contract`` are None then.
    """

    checked: CheckResult
    op: dict[str, Any]
    curves: Frame | None = None
    contract: dict[str, Any] | None = None


@dataclass(frozen=True)
class Report:
    """The results of all Functions of ``targets``, in the order of their files.

    ``troubles`` are the load errors of targets: sentence, kind, file, line, excerpt and traceback. ``seconds`` is how
    long it took; ``torch`` and ``device`` are empty where torch was not loaded. ``left`` is the number of Functions not
    examined because of an interrupt; ``notes`` are remarks on what the files do when they are loaded.
    """

    targets: tuple[str, ...]
    found: tuple[ExaminedFunction, ...] = ()
    troubles: tuple[dict[str, Any], ...] = ()
    torch: str = ""
    device: str = ""
    seconds: float = 0.0
    left: int = 0
    notes: tuple[str, ...] = ()

    @property
    def faulty(self) -> tuple[ExaminedFunction, ...]:
        """The Functions that make the check fail."""
        return tuple(each for each in self.found if not each.checked.ok)

    @property
    def code(self) -> int:
        """The exit code: 0 where all is well, 1 where something is wrong, 2 where a target could not be loaded."""
        return 2 if self.troubles else 1 if self.faulty else 0
