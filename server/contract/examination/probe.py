"""One check to make: its words, what it needs, and the question it puts to a call that was examined."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from .session import Examined, Need

Level = Literal["error", "warning", "note", "fine"]
# The gravest first.
LEVELS: tuple[Level, ...] = ("error", "warning", "note", "fine")


@dataclass(frozen=True)
class Check:
    """One row.

    ``level`` is ``error`` (wrong gradients, or a crash), ``warning`` (likely trouble), ``note`` (good to know) or
    ``fine`` (checked and found right). ``seen`` says what was seen, with numbers; ``torch`` what torch made of it;
    ``advice`` what to do. ``line`` counts in the source that is shown, from 1, and is None where no line can be
    pointed at. ``document`` is the title of the page of torch's documentation that says how it should be.
    ``element`` is what of the inputs it was seen in, like ``weight[0,1]``, empty where that is no one element.
    """

    id: str
    family: str
    level: Level
    title: str
    seen: str
    torch: str = ""
    advice: str = ""
    line: int | None = None
    document: str = ""
    element: str = ""


@dataclass(frozen=True)
class Raw:
    """What backward returned for one argument of forward, beside what the engine made of it and delivered.

    Shapes are written like ``(2, 3)``, dtypes like ``float64``; all four are empty where there is nothing, as for
    ``None``, and ``delivered`` is ``zeros`` where None stands for them.
    """

    input: str
    shape: str
    returned: str
    returned_dtype: str
    delivered: str
    delivered_dtype: str


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


def shape_of(shape: Iterable[int]) -> str:
    """A shape as Python writes it."""
    return str(tuple(shape))
