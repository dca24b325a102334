"""The grid of a section: evenly spaced points, with additional rows at special points."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Array, evenly_chosen
from ...runtime.call_cost import estimated_seconds
from ...runtime.failure import FunctionFailed
from ...runtime.section import Section
from ..singularities.special_points import SpecialPoint
from ..tolerance import ALIKE_SHARE

FEW_POINTS = 12  # budget: the points that are looked at closer where each costs a call of its own
LOOKED_AT_CLOSER = (
    32  # budget: the rows, cells or points that are, the worst or evenly chosen ones, where many share a call
)
POINTS_ONE_BY_ONE = 17  # budget: the points of a study, or along an axis, where each needs calls of its own
_BELOW, _GAP, _ABOVE = 1, 2, 3  # unit: the codes of what a row is for, in the order of the rows of a jump
# budget: the calls of a verdict where every point costs one: so many, and so many for each point; the seconds that they
# may take; and the least number of points.
_CALLS, _CALLS_PER_POINT, _SECONDS, _MIN_POINTS = 1200, 15, 2.0, 21


@dataclass(frozen=True)
class Grid:
    """``count`` evenly spaced points from ``start`` to ``stop``."""

    start: float
    stop: float
    count: int

    @property
    def span(self) -> float:
        """The length of the interval."""
        return self.stop - self.start

    def points(self) -> Array:
        """The points, each between the ends rounded to the shortest decimal that does not move it visibly.

        So 0 is 0 and not -8e-17, and a kink at 1 is met by a grid point that is 1.
        """
        return _points(self.start, self.stop, self.count).copy()


@lru_cache(maxsize=8)
def _points(start: float, stop: float, count: int) -> Array:
    x = np.linspace(start, stop, count)
    spacing = (stop - start) / count or math.ulp(0.0)  # of a few subnormal numbers it would be 0
    digits = int(9 - np.floor(np.log10(spacing)))
    # Beyond 10^±300 there are no powers of ten to round with.
    x[1:-1] = np.round(x[1:-1], digits) if 0 <= digits <= 300 else x[1:-1]
    return x if (x[1:] > x[:-1]).all() else np.unique(x)


@dataclass(frozen=True)
class Rows:
    """The points to evaluate: ``x``, not decreasing, with ``gap`` where forward has no value to draw.

    ``below`` and ``above`` mark the last point before and the first point after a gap, or a jump of the gradient.
    """

    x: Array
    gap: NDArray[np.bool_]
    below: NDArray[np.bool_]
    above: NDArray[np.bool_]

    def joined(self, extra: Array) -> Rows:
        """These rows merged with ``extra`` points."""
        if not extra.size:
            return self
        none = np.zeros(extra.size, bool)
        merged = np.concatenate((self.x, extra))
        # Rows of one x, as those of a jump may be, stay in order.
        order = np.argsort(merged, kind="stable")
        gap, below, above = (np.concatenate((role, none))[order] for role in (self.gap, self.below, self.above))
        return Rows(merged[order], gap, below, above)


def grid_rows(x: Array, special: tuple[SpecialPoint, ...], edges: tuple[SpecialPoint, ...] = ()) -> Rows:
    """The grid ``x`` with one row added for each kink, cusp or pole, three for each jump, two for an edge.

    The rows of a jump are (below, gap, above), that of a pole is a gap. ``edges`` are places where backward's
    gradient jumps while forward does not.
    """
    if not (special or edges):
        none = np.zeros(x.size, bool)
        return Rows(x, none, none, none)
    near = ALIKE_SHARE * (x[-1] - x[0]) / x.size
    places = np.sort([each.x for each in (*special, *edges)])
    after = np.searchsorted(places, x)
    beside = np.abs(x - np.concatenate(([-np.inf], places, [np.inf]))[[after, after + 1]])
    points = [x[(beside > near).all(axis=0)]]
    roles = [np.zeros(points[0].size, np.int8)]
    for each in special:
        jump = each.kind == "jump"
        points.append(np.array([each.left, each.x, each.right] if jump else [each.x]))
        roles.append(np.array([_BELOW, _GAP, _ABOVE] if jump else [_GAP if each.kind == "pole" else 0], np.int8))
    for each in edges:
        points.append(np.array([each.left, each.right]))
        roles.append(np.array([_BELOW, _ABOVE], np.int8))
    merged, role = np.concatenate(points), np.concatenate(roles)
    order = np.lexsort((role, merged))
    merged, role = merged[order], role[order]
    return Rows(merged, role == _GAP, role == _BELOW, role == _ABOVE)


def thin_grid(section: Section, grid: Grid, grad_output: float) -> Grid:
    """The grid, halved as often as needed where every point costs a call and there is no time for so many."""
    if section.stacked:
        return grid
    t, count = section.snap(np.array([(grid.start + grid.stop) / 2])), grid.count
    try:
        seconds = estimated_seconds(lambda: section.backward(t, grad_output))
    except FunctionFailed:
        return grid
    while (_CALLS + _CALLS_PER_POINT * count) * seconds > _SECONDS and count // 2 + 1 >= _MIN_POINTS:
        count = count // 2 + 1
    return replace(grid, count=count)


def defined_part(section: Section, grid: Grid) -> Grid | None:
    """The longest part of the grid at whose points forward does not raise, as seen at some of them; None for none."""
    x, forward = np.unique(section.snap(grid.points())), section.alone().forward_alone

    def raises(place: int) -> bool:
        try:
            forward(x[[place]])
        except FunctionFailed:
            return True
        return False

    def last_before(runs: int, raises_at: int) -> int:
        while abs(raises_at - runs) > 1:
            middle = (runs + raises_at) // 2
            runs, raises_at = (runs, middle) if raises(middle) else (middle, raises_at)
        return runs

    some = evenly_chosen(np.arange(x.size), POINTS_ONE_BY_ONE)
    refused = np.flatnonzero([raises(place) for place in some])
    before, after = np.append(-1, refused), np.append(refused, some.size)
    longest = int((after - before).argmax())
    low, high = before[longest], after[longest]
    if high - low < 2:
        return None
    first = 0 if low < 0 else last_before(some[low + 1], some[low])
    last = x.size - 1 if high == some.size else last_before(some[high - 1], some[high])
    return Grid(float(x[first]), float(x[last]), int(last - first + 1)) if last > first else None
