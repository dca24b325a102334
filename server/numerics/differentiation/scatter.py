"""How well the slope of a forward is known that jumps a little, as a solver does where it takes another step.

Where it jumps again and again, as a bisection of few halvings, its slope between two jumps is that of one stair.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from ...runtime.arrays import EPSILON, Array, Forward, median
from ..tolerance import MANY_ULPS, SMALL
from .finite_differences import EVIDENCE_BOUNDS

# sample: a stairway is seen in such a window, by a polynomial of this degree through so many places; and how far each
# place is looked at for the slope of its stair, from wide to narrow.
_STAIRWAY, _DEGREE, _PLACES, _ON_A_STAIR = 2.0**-7, 5, 65, (1e-5, 1e-6, 1e-7, 1e-8)
T = TypeVar("T", float, Array)
_POINTS = 33  # budget: the points in a window around each place
_ORDER = 8  # pattern: differences of this order leave little of a curve, and of a jump these multiples
_OF_A_JUMP, _IN_ALL = 35.0, 128.0
_WIDER = 4.0  # sample: the ratio of one window to the next
# bound: jumps up to this share of forward's size, which add up to this share of its slope, may be where a solver stops;
# more is a shape of its own.
_MOST, _MOST_OF_SLOPE = 2.0**-10, 2.0**-8


def most_explained(slope: T) -> T:
    """What is off these slopes by more is no matter of how forward jumps."""
    return EVIDENCE_BOUNDS * _MOST_OF_SLOPE * abs(slope)


@np.errstate(all="ignore")
def slope_scatter(along: Forward, slope: float, near: float, reach: float) -> float:
    """How far a ``slope`` of forward between two of its jumps may be off that of what it stands for.

    That is what the jumps take back again: their sum for the length of the way, in windows on a line, ``along`` which
    forward is known, from one as ``near`` as that up to the ``reach``. Where there are none, or larger ones, it is 0.
    """
    found, width = 0.0, near
    while width <= reach:
        jumps = _jumps(along(width * np.linspace(-1, 1, _POINTS))) / (2 * width)
        found = max(found, jumps if jumps <= _MOST_OF_SLOPE * abs(slope) else 0.0)
        width *= _WIDER
    return found


@np.errstate(all="ignore")
def rises_over_stairs(along: Forward, slope: float, returned: float) -> bool:
    """Whether forward rises over many small stairs as was ``returned``, while at nearly every place it has a ``slope``.

    If it has that wherever one looks, and rises by another, it jumps in between. ``along`` is forward on a line, 0 at
    the place that is looked at.
    """
    way = _STAIRWAY * np.linspace(-1, 1, _PLACES)
    values, off = along(way), abs(returned - slope)
    stairs = (median(np.abs((along(way + step) - values) / step - slope)) <= SMALL * off for step in _ON_A_STAIR)
    if not any(stairs):
        return False
    line = np.polynomial.Polynomial.fit(way, values, _DEGREE)
    # The jumps are as high as what the line leaves, and over the whole way lose no more than one of them.
    unknown = float(np.abs(values - line(way)).max()) / _STAIRWAY
    return abs(returned - float(line.deriv()(0.0))) <= unknown <= SMALL * off


def _jumps(values: Array) -> float:
    """The sum of the small jumps between the ``values`` of equidistant points."""
    before, height = np.diff(values, _ORDER - 1), float(np.abs(values).max())
    bends = np.abs(np.diff(before))[1:-1]
    alternates = before[1:] * before[:-1] < 0
    jumps = alternates[2:] & alternates[1:-1] & alternates[:-2]  # again and again, as differences of a curve do not
    found = np.where(jumps & (bends > MANY_ULPS * _OF_A_JUMP * EPSILON * height), bends, 0.0)
    return float(found.sum()) / _IN_ALL if found.max() <= _OF_A_JUMP * _MOST * height else 0.0
