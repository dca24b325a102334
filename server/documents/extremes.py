"""The least and the largest value of a column, also where its curve turns between two of its points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

_REACH = 2  # points on either side of an extreme one
_SMOOTH = 0.02  # of what a parabola rises by, as far as the outer of these points may lie off it


def extreme_values(x: Sequence[float], column: Sequence[float | None]) -> tuple[float, float] | None:
    """The extremes of the curve through a ``column``, one value for each ``x``; None where it has no value."""
    values = {row: value for row, value in enumerate(column) if value is not None}
    if not values:
        return None
    low, high = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
    return _turning_value(x, column, low), _turning_value(x, column, high)


def _turning_value(x: Sequence[float], column: Sequence[float | None], row: int) -> float:
    """The value at the vertex of the parabola through the point of a row and its neighbours.

    It is rounded to what it adds to the value at the row, which it is where the curve is no parabola there.
    """
    rows = range(row - _REACH, row + _REACH + 1)
    middle = column[row] or 0.0
    around = [(x[each] - x[row], column[each]) for each in rows if 0 <= each < len(x)]
    known = [(t, value - middle) for t, value in around if value is not None]
    if len(known) < len(rows) or any(one >= other for (one, _), (other, _) in pairwise(known)):
        return middle
    _, (left, below), _, (right, above), _ = known
    bend = (above / right - below / left) / (right - left)
    slope = above / right - bend * right
    smooth = all(abs(slope * t + bend * t * t - value) <= _SMOOTH * abs(bend) * t * t for t, value in known)
    beyond = slope * slope / (4 * bend) if bend and smooth else 0.0
    turns = 0 < abs(beyond) < math.inf
    return round(middle - beyond, -math.floor(math.log10(abs(beyond)))) if turns else middle
