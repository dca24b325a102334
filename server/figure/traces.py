"""The layers of a figure, from back to front: curves, each a column of the section, and marks."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from .drawn_section import DrawnSection, Mark, Numbers


def _band(xs: list[float], middle: Numbers, error: Numbers) -> tuple[Numbers, Numbers]:
    """x and y of the outlines of ``middle`` ± ``error``, a None after each."""
    x: Numbers = []
    y: Numbers = []
    run: list[tuple[float, float, float]] = []
    for at, value, bound in [*zip(xs, middle, error, strict=False), (0.0, None, None)]:
        if value is not None and bound is not None:
            run.append((at, value, bound))
        elif run:
            back = run[::-1]
            x += [*(at for at, _, _ in run), *(at for at, _, _ in back), None]
            y += [*(value + bound for _, value, bound in run), *(value - bound for _, value, bound in back), None]
            run = []
    return x, y


_STEP = 0.02  # of what a column spans: the least step at which it is cut
_LEVEL = 0.02  # of a step: what the column may rise by on either side of it
_Shape = Literal["line", "area", "diamonds", "ends"]


@dataclass(frozen=True)
class Layer:
    """One curve, area or set of marks; ``lower`` if it belongs to the panel of slopes. None in x or y is a gap."""

    name: str
    shape: _Shape
    lower: bool
    x: Numbers
    y: Numbers


@dataclass(frozen=True)
class DrawnCurve:
    """A column of the section that is drawn as a curve, with gaps where x is one of ``cut``."""

    name: str
    column: str
    lower: bool
    cut: frozenset[float] = frozenset()

    def rows(self, section: DrawnSection) -> list[int]:
        """The rows of its gaps."""
        return [row for row, x in enumerate(section.x) if x in self.cut] if self.cut else []

    def layer(self, section: DrawnSection) -> Layer:
        """With its numbers."""
        xs: Numbers = list(section.x)
        values = section.column(self.column)
        ys = [None if x in self.cut else y for x, y in zip(xs, values, strict=True)] if self.cut else values
        return Layer(self.name, "line", self.lower, xs, ys)


def curves(section: DrawnSection) -> Iterator[DrawnCurve]:
    """The curves of a section without poles, from back to front."""
    if "numerical" in section.columns:
        yield DrawnCurve("numerical", "numerical", True)
    if section.visible_implied:
        yield DrawnCurve("implied", "implied", False)
    if "surrogate" in section.columns:
        yield DrawnCurve("surrogate", "surrogate", False)
    yield DrawnCurve("forward", "forward", False)
    # Where forward has a kink its slope jumps: the line stops on either side and the diamond says what backward chose.
    broken = frozenset(mark.x for mark in section.marks if mark.bent)
    for name, column in (("surrogate slope", "surrogate_numerical"), ("analytical", "analytical")):
        if column in section.columns:
            rows = [row for row in _steps(section.column(column)) if section.x[row - 1] not in broken]
            steps = frozenset(section.x[row] for row in rows)
            yield DrawnCurve(name, column, True, broken | steps)


def _steps(ys: Numbers) -> Iterator[int]:
    """The rows behind a step: between two neighbours, and level on either side. A line across would be no slope."""
    rises = [0.0 if low is None or high is None else abs(high - low) for low, high in pairwise(ys)]
    there = [y for y in ys if y is not None]
    least = _STEP * (max(there) - min(there)) if there else 0.0
    for row, (before, rise, after) in enumerate(zip([0.0, *rises], rises, [*rises[1:], 0.0], strict=False), 1):
        if rise > least and max(before, after) <= _LEVEL * rise:
            yield row


def layers(section: DrawnSection, lines: Iterable[DrawnCurve]) -> list[Layer]:
    """The layers of a section from which ``without_poles`` has removed the poles, with its ``curves`` as ``lines``."""
    outline = _band(section.x, section.column("numerical"), section.column("error"))
    return [
        Layer("error band", "area", True, *outline),
        *(curve.layer(section) for curve in lines),
        *mark_layers(section),
    ]


def mark_layers(section: DrawnSection) -> list[Layer]:
    """The layers of kinks and jumps alone."""
    return [*_kinks([mark for mark in section.marks if mark.bent]), *_jumps(section.marks)]


def _kinks(marks: list[Mark]) -> Iterator[Layer]:
    """The marks, and vertical lines between the one-sided gradients, each value of which is right."""
    if not marks:
        return
    ends = [(mark.left, mark.right) if None not in (mark.left, mark.right) else (None, None) for mark in marks]
    places: list[float | None] = [mark.x for mark in marks]
    yield Layer(
        "subgradients",
        "line",
        True,
        [x for place in places for x in (place, place, None)],
        [y for left, right in ends for y in (left, right, None)],
    )
    yield Layer("kinks", "diamonds", False, places, [mark.forward for mark in marks])
    yield Layer("kink slopes", "diamonds", True, places, [mark.analytical for mark in marks])


def _jumps(marks: tuple[Mark, ...]) -> Iterator[Layer]:
    """Closed ends at the value of forward, open ends at one-sided limits that it does not take."""
    jumps = [mark for mark in marks if mark.kind == "jump"]
    if not jumps:
        return
    pairs = [(mark.x, y) for mark in jumps for y in (mark.below, mark.above) if y != mark.forward]
    yield Layer("open ends", "ends", False, [x for x, _ in pairs], [y for _, y in pairs])
    closed = [mark for mark in jumps if mark.forward is not None]
    yield Layer("closed ends", "ends", False, [mark.x for mark in closed], [mark.forward for mark in closed])
