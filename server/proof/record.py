"""What a proof says, as plain numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..runtime.copies import place_of

if TYPE_CHECKING:
    from ..runtime.section import Section

Stretch = tuple[float, float]
Piece = tuple[float, float, int] | tuple[float, float, int, float, float]
Word = Literal["proved", "refuted", "in part", "nothing", ""]
Dtype = Literal["float64", "float32"]
Given = Literal["every", "every positive", "every negative", "range", "this"]


@dataclass(frozen=True)
class Held:
    """Another number that is held in a range, not swept: an element of an input, or a parameter."""

    name: str
    index: tuple[int, ...]
    low: float
    high: float

    def is_in(self, shapes: Mapping[str, Sequence[int]], swept: tuple[str, tuple[int, ...]]) -> bool:
        """Whether it is an element of one of these shapes, which is not the swept one, and its range is one."""
        shape = shapes.get(self.name, (0,))
        index = self.index or (0,) * len(shape)
        inside = len(index) == len(shape) and all(0 <= i < size for i, size in zip(index, shape, strict=True))
        return inside and (self.name, self.index) != swept and self.low < self.high

    def at(self, section: Section, number: float) -> Section:
        """The section with it held at a number."""
        return section.holding(self.name, number, place_of(self.index, section.shape(self.name)))


@dataclass(frozen=True)
class Witness:
    """A box in all of which backward and the slope differ, and the ranges of both in it, which share no number.

    What is held in a range is held ``at`` a number in it.
    """

    start: float
    stop: float
    backward_low: float
    backward_high: float
    slope_low: float
    slope_high: float
    at: float | None = None


@dataclass(frozen=True)
class Proof:
    """What is proved of a section from ``start`` to ``stop``: stretches in order, which share their ends alone.

    For every real t of ``proved`` what backward returns and grad_output times the derivative of the curve differ by no
    more than ``epsilon`` times the slope: that at t, or in a box around a zero of the slope that at its middle. In all
    of each stretch of ``refuted`` they differ by more, as in the box of the ``witness``. ``points`` enclose where a
    curve may bend or leap; of ``undecided`` nothing is said. ``grad_output`` says for which of them this holds,
    ``given`` from which to which where it is a range. ``everywhere`` says that outside of the range all is proved as
    well; ``of_forward`` that the curve is forward, though a surrogate is declared. ``reason`` is why nothing could be
    asked at all; the ``word`` is empty where there is no python-flint.
    ``pieces`` are the boxes of ``proved``, each with the effort that it took, and its part of what is ``held`` in a
    range: all is proved for each number of that, and refuted for one.
    """

    word: Word
    start: float
    stop: float
    proved: tuple[Stretch, ...] = ()
    refuted: tuple[Stretch, ...] = ()
    witness: Witness | None = None
    points: tuple[Stretch, ...] = ()
    undecided: tuple[Stretch, ...] = ()
    epsilon: float = 0.0
    grad_output: Given = "this"
    given: Stretch | None = None
    everywhere: bool = False
    of_forward: bool = False
    boxes: int = 0
    bits: int = 0
    reason: str = ""
    pieces: tuple[Piece, ...] = ()
    held: Held | None = None

    @property
    def share(self) -> float:
        """The share of the range that is proved."""
        return min(1.0, sum(stop - start for start, stop in self.proved) / (self.stop - self.start))


def merged(stretches: Iterable[Stretch]) -> list[Stretch]:
    """The same, with those that touch as one."""
    joined: list[Stretch] = []
    for start, stop in sorted(stretches):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(stop, joined[-1][1]))
        else:
            joined.append((start, stop))
    return joined
