"""How well the slope of a forward is known that jumps a little, as a solver does where it takes another step.

Where it jumps again and again, as a bisection of few halvings, its slope between two jumps is that of one stair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from ...runtime.arrays import EPSILON, Array, Forward, Mask, median
from ..tolerance import MANY_ULPS, SMALL
from .finite_differences import EVIDENCE_BOUNDS

# sample: a stairway is seen in such a window, by a polynomial of this degree through so many places; and how far each
# place is looked at for the slope of its stair, from wide to narrow.
_STAIRWAY, _DEGREE, _PLACES, _ON_A_STAIR = 2.0**-7, 5, 65, (1e-5, 1e-6, 1e-7, 1e-8)
T = TypeVar("T", float, Array)
_POINTS = 33  # budget: the points in a window around each place
_ORDER = 8  # pattern: differences of this order leave little of a curve, and of a jump these multiples
_OF_A_JUMP, _IN_ALL = 35.0, 128.0
_WIDER = 4.0  # sample: the ratio of one window to the next, at most
# bound: jumps up to this share of forward's size, which add up to this share of its slope, may be where a solver stops;
# more is a shape of its own.
_MOST, _MOST_OF_SLOPE = 2.0**-10, 2.0**-8
_REMAINS = 0.35  # pattern: of a jump so much remains at least between points eight times as close, of a kink an eighth


def most_explained(slope: T) -> T:
    """What is off these slopes by more is no matter of how forward jumps."""
    return EVIDENCE_BOUNDS * _MOST_OF_SLOPE * abs(slope)


@np.errstate(all="ignore")
def slope_scatter(along: Forward, slope: float, near: float, reach: float) -> float:
    """How far a ``slope`` of forward between two of its jumps may be off that of what it stands for.

    That is what the jumps take back again: their sum for the length of the way, in windows on a line, ``along`` which
    forward is known, from one as ``near`` as that to one that ends at the ``reach``. Where there are none, or larger
    ones, it is 0; and so it is where it is a wave that is too fast for a window.
    """
    wider, found = np.log(reach / near) / np.log(_WIDER), []
    for width in np.geomspace(near, reach, int(wider) + 2) if wider >= 0 else ():
        way = width * np.linspace(-1, 1, _POINTS)
        values = along(way)
        height = float(np.abs(values).max())
        window = _Window(way, _jumps(values, height), height)
        if 0 < window.share <= _MOST_OF_SLOPE * abs(slope):
            found.append(window)
    found.sort(key=lambda window: -window.share)
    return next((window.share for window in found if _remains(along, window, near)), 0.0)


@dataclass(frozen=True)
class _Window:
    """The ``jumps`` that are seen on a ``way`` on which forward has this ``height``."""

    way: Array
    jumps: Array
    height: float

    @property
    def share(self) -> float:
        """Their sum for the length of the way."""
        return float(self.jumps.sum()) / _IN_ALL / float(np.ptp(self.way))


def _remains(along: Forward, window: _Window, near: float) -> bool:
    """Whether the largest jump of a window is one down to windows as ``near``, where a kink or a wave is none."""
    way, jumps = window.way, window.jumps
    while way[-1] - way[0] > near:
        place, before = int(jumps.argmax()) + _ORDER // 2 + 1, jumps.max()
        way = np.linspace(way[place - 2], way[place + 2], _POINTS)
        jumps = _jumps(along(way), window.height)
        if jumps.max() < _REMAINS * before:
            return False
    return True


@dataclass(frozen=True)
class Pieces:
    """The ``places`` where forward goes on as another approximation, and the ``change`` of its slope there.

    So it does where a solver takes another step. No piece has a slope that is known better than it changes at its ends.
    """

    places: Array
    change: Array

    def known(self, x: Array) -> Array:
        """How far slopes at ``x`` may be off that of what forward stands for."""
        change, piece = np.concatenate(([0.0], self.change, [0.0])), np.searchsorted(self.places, x)
        least: Array = np.maximum(change[piece], change[piece + 1])
        return least

    def begin_in(self, left: Array, right: Array) -> Mask:
        """Whether a piece begins in each of these cells."""
        begun = np.searchsorted(self.places[self.change > 0], np.stack((left, right)))
        inside: Mask = begun[1] > begun[0]
        return inside


@np.errstate(all="ignore")
def pieces_between(places: Array, x: Array, slope: Array, off: Array) -> Pieces:
    """The pieces of a forward with such a ``slope`` at increasing ``x``, ``off`` what was returned by so much.

    ``places`` (n × 2, increasing) are the two sides of its kinks and jumps. A piece begins where what it is off begins
    anew, on the other side of 0, while the slope hardly changes: no factor and no term does that.
    """
    seen = np.flatnonzero(np.isfinite(off))
    ends = np.searchsorted(x[seen], places) - [1, 0]
    inside = (ends >= 0).all(axis=1) & (ends < seen.size).all(axis=1)
    before, after = seen[ends[inside]].T
    change, most = np.abs(off[after] - off[before]), _MOST_OF_SLOPE * np.abs(slope[before])
    anew = change >= np.maximum(np.abs(off[after]), np.abs(off[before]))
    anew &= (change <= most) & (np.abs(slope[after] - slope[before]) <= most)
    return Pieces(places[inside].mean(axis=1), np.where(anew, change, 0.0))


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


def _jumps(values: Array, height: float) -> Array:
    """Multiples of the small jumps between the ``values`` of equidistant points; 0 where there is none.

    They are small beside the ``height`` of forward.
    """
    before = np.diff(values, _ORDER - 1)
    bends = np.abs(np.diff(before))[1:-1]
    alternates = before[1:] * before[:-1] < 0
    jumps = alternates[2:] & alternates[1:-1] & alternates[:-2]  # again and again, as differences of a curve do not
    found = np.where(jumps & (bends > MANY_ULPS * _OF_A_JUMP * EPSILON * height), bends, 0.0)
    return found if found.max() <= _OF_A_JUMP * _MOST * height else np.zeros_like(found)
