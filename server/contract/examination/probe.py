"""One check to make: its words, what it needs, and the question it puts to a call that was examined."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .check import Check, Level

if TYPE_CHECKING:
    from .session import Examined

# Characters of what an exception says.
LONGEST = 300
# What there must be before a check can be made: outputs, gradients, a subclass that was reached, equal answers.
Need = Literal["forward", "backward", "watched", "steady"]


@dataclass(frozen=True)
class Found:
    """What a check has found: a row but for what all rows of that check share."""

    level: Level
    seen: str
    torch: str = ""
    advice: str = ""
    line: int | None = None
    element: str = ""


@dataclass(frozen=True)
class Probe:
    """A check. ``fine`` is what is said where ``ask`` finds nothing; ``ask`` may raise what the Function raises."""

    id: str
    title: str
    document: str
    fine: str
    ask: Callable[[Examined], Iterable[Found]]
    needs: tuple[Need, ...] = ("backward",)

    def row(self, family: str, found: Found) -> Check:
        """The row that says this."""
        said = (found.seen, found.torch, found.advice, found.line, self.document, found.element)
        return Check(self.id, family, found.level, self.title, *said)


def said(error: BaseException) -> str:
    """The kind of an exception and the first line of its message, without a full stop."""
    try:
        lines = str(error)[: 4 * LONGEST].strip().splitlines()
    except Exception:  # noqa: BLE001 an exception may be a Function's own
        lines = []
    message = lines[0][:LONGEST].rstrip(".") if lines else "no message"
    return f"{type(error).__name__[:LONGEST]}: {message}"


def shape_of(shape: Iterable[int]) -> str:
    """A shape as Python writes it."""
    return str(tuple(shape))
