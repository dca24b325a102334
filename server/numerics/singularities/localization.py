"""Localization of special points: repeated subdivision of the candidate intervals, down to the last places of x."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Array, Forward, Mask
from .candidates import SingularityCandidates, find_candidates, unresolved_range

# The most special points; more than that are noise.
_MOST, _MOST_IF_DEAR = 256, 64
# Where the grid is too coarse: the most points of a finer one, and its points per cell.
_FINER, _FINER_CELL = 8192, 64
# The parts into which an interval is cut, in the first pass and the later ones; all intervals together; the fewest.
_PARTS, _LATER_PARTS, _TOGETHER, _FEWEST = 1024, 512, 4096, 32
_DEAR_PARTS, _DEAR_LATER_PARTS = 64, 16
_PASSES = 20
# In cells, the width down to which intervals are narrowed.
_NARROWEST, _NARROWEST_IF_DEAR = 1e-13, 1e-7
# A smooth bend loses sharpness to this fraction on a grid a hundred times finer.
_BLUNT = 1 / 10
# A jump becomes at least this many times sharper.
_SHARPER = 6.0
# A bend counts above this many units of rounding.
_HEARD = 8


@dataclass(frozen=True)
class SingularitySearch:
    """The forward to search, and the scales of its picture: ``cell`` of the grid, ``rise`` and ``visible`` slope."""

    forward: Forward
    precision: float
    cell: float
    rise: float
    visible: float
    cheap: bool
    jumps_only: bool

    def values(self, points: Array) -> Array:
        """The forward at points of any shape."""
        return self.forward(points.ravel()).reshape(points.shape)

    def found(self, x: Array, y: Array, known: Array) -> SingularityCandidates:
        """The suspects on the grid ``x`` that are not ``known``, each narrowed until it sinks into the rounding."""
        found = self._suspects(x[:, None], y[:, None], known)
        if self.cheap:
            found = self._finer(found, x, y, known)
        if found.low.size:
            found = self._within(found.sharpest(_MOST if self.cheap else _MOST_IF_DEAR))
        return self._narrowed(found) if found.low.size else found

    def _suspects(self, x: Array, y: Array, known: Array) -> SingularityCandidates:
        return find_candidates(x, y, self.precision, self.rise, self.visible, known)

    def _finer(self, found: SingularityCandidates, x: Array, y: Array, known: Array) -> SingularityCandidates:
        """The suspects, with those of a finer grid where this one is too coarse."""
        piece = unresolved_range(x, y, self.precision, self.rise, self.visible, found, known)
        if not piece.size:
            return found
        low, high = piece
        points = np.linspace(low, high, int(min(_FINER, _FINER_CELL * (high - low) / self.cell)))
        more = self._suspects(points[:, None], self.values(points)[:, None], known)
        if more.low.size > _MOST:
            return found
        return found.where((found.high < low) | (found.low > high)).and_also(more)

    def _within(self, found: SingularityCandidates) -> SingularityCandidates:
        """The suspects inside the intervals, if still sharp on a finer grid."""
        parts = self._parts(found.low.size, _PARTS, _DEAR_PARTS)
        points = _parted(found.low, found.high, parts)
        inside = self._suspects(points, self.values(points), np.empty(0))
        before, least = found.sharp[inside.column], _SHARPER if self.jumps_only and parts == _PARTS else _BLUNT
        inside = inside.where((inside.sharp >= least * before) | np.isinf(before))
        return inside if inside.low.size <= _MOST else inside.sharpest(0)

    def _narrowed(self, found: SingularityCandidates) -> SingularityCandidates:
        """Each interval, repeatedly cut down to the two parts between which forward bends most.

        An interval whose bend is below the rounding stays as it is.
        """
        parts = self._parts(found.low.size, _LATER_PARTS, _DEAR_LATER_PARTS)
        low, high, column = found.low, found.high, np.arange(found.low.size)
        narrowest = self.cell * (_NARROWEST if self.cheap else _NARROWEST_IF_DEAR)
        for _ in range(_PASSES):
            wide = high - low > np.maximum(narrowest, 4 * np.spacing(np.maximum(np.abs(low), np.abs(high))))
            if not wide.any():
                break
            points = _parted(low, high, parts)
            at, until, heard = self._sharpest(points, self.values(points), found.edge)
            heard &= wide
            if not heard.any():
                break
            low = np.where(heard, points[at, column], low)
            high = np.where(heard, points[until, column], high)
        return SingularityCandidates(low, high, found.edge, found.sharp, found.column)

    def _sharpest(self, points: Array, values: Array, edge: Mask) -> tuple[NDArray[np.intp], NDArray[np.intp], Mask]:
        """The points between which each column bends most, or its domain ends, and whether that exceeds rounding."""
        column = np.arange(points.shape[1])
        bend = _bend(values)
        at = bend.argmax(axis=0)
        most, until = bend[at, column], at + 2
        moved = np.fmax(np.abs(values[1] - values[0]), np.abs(values[-1] - values[-2])) / (points[1] - points[0])
        rounding = self.precision * (np.abs(values[at + 1, column]) + np.abs(points[0]) * moved)
        heard = (most > _HEARD * rounding) | np.isinf(most)
        if edge.any():
            finite = np.isfinite(values)
            ends = (finite[1:] != finite[:-1]).argmax(axis=0)
            at, until = np.where(edge, ends, at), np.where(edge, ends + 1, until)
            heard |= edge
        return at, until, heard

    def _parts(self, intervals: int, most: int, if_dear: int) -> int:
        return max(_FEWEST, min(most, _TOGETHER // intervals)) if self.cheap else if_dear


def _parted(low: Array, high: Array, parts: int) -> Array:
    points = low + (high - low) * _shares(parts)
    points[-1] = high
    return points


@lru_cache(maxsize=64)
def _shares(parts: int) -> Array:
    return np.linspace(0, 1, parts + 1)[:, None]


def _bend(values: Array) -> Array:
    """The second difference at every inner value, less the curvature around it.

    That is the smaller of the second differences three places away on either side, or of two on one side near an end.
    """
    bend = np.abs(values[:-2] - 2 * values[1:-1] + values[2:])
    finite = np.isfinite(bend)
    if not finite.all():
        bend[~finite] = 0.0
    aside = np.abs(bend[3:] - bend[:-3])
    first, last = np.abs(bend[6:9] - bend[:3]), np.abs(bend[-9:-6] - bend[-3:])
    standing = np.minimum(np.concatenate((first, aside)), np.concatenate((aside, last)))
    if not finite.all():
        standing[~np.isfinite(values[1:-1]) & np.isfinite(values[2:]) & np.isfinite(values[:-2])] = np.inf
    return standing
