"""Adaptive refinement: more points where straight lines between the rows would visibly miss the curves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from ...runtime.arrays import EPSILON, Array, Mask
from ...runtime.failure import FunctionFailed
from ...runtime.section import Section
from ..singularities.special_points import SpecialPoint
from .grid import Rows

# The width and height of the picture in pixels, and the largest error of a line in pixels.
_PIXELS, _ALLOWED = 1000.0, 0.25
# Cells with an estimated error above this fraction of it are examined.
_DOUBTED = 0.5
# In cells: a narrower one only separates the two sides of one place.
_TINY = 1e-4
# Errors below this many units of rounding do not justify a point.
_ROUNDINGS = 32.0


def _allowed_of(at: Rows, lines: Array, special: tuple[SpecialPoint, ...], rounding: Array) -> Array:
    """A quarter of a pixel in each line's panel, which shows everything but the neighbourhood of poles."""
    shown = np.where(np.isfinite(lines), lines, np.nan)
    hidden = _next_to(at.x, special, "pole")
    shown[:, np.append(hidden, False) | np.append(False, hidden) | at.gap] = np.nan
    high, low = (np.fmax.reduce(side, axis=1, initial=-np.inf) for side in (shown, -shown))
    rise = np.where(high + low > 0, high + low, np.inf)
    size = np.where(np.isfinite(rise), np.maximum(np.abs(high), np.abs(low)), 0.0)
    return np.maximum(_ALLOWED / _PIXELS * rise, _ROUNDINGS * rounding * size)


def _next_to(x: Array, special: tuple[SpecialPoint, ...], kind: str) -> Mask:
    """A mask of the cells next to a special point of this kind."""
    near = np.zeros(x.size - 1, bool)
    for each in special:
        if each.kind == kind:
            row = int(np.searchsorted(x, each.x))
            near[max(row - 1, 0) : row + 1] = True
    return near


def _doubted(at: Rows, lines: Array, allowed: Array, special: tuple[SpecialPoint, ...]) -> Mask:
    """The cells in which some line may be curved by more than is allowed, according to its second differences."""
    run = np.diff(at.x)
    open_ = (run > _TINY * (at.x[-1] - at.x[0]) / at.x.size) & ~at.gap[1:] & ~at.gap[:-1]
    with np.errstate(all="ignore"):
        slope = np.diff(lines, axis=1) / run
        curved = 2 * np.abs(np.diff(slope, axis=1)) / (run[1:] + run[:-1])
    alone = _alone(at, special)
    known = np.isfinite(curved) & ~alone[1:-1] & open_[1:] & open_[:-1]
    # The gradient jumps at a kink, so the rows next to one have a smooth neighbour on one side only.
    known[1:] &= ~alone[2:] & ~alone[:-2]
    curved = np.where(known, curved, 0.0)
    # A row at a special point has no curvature of its own, and takes that of its neighbours.
    curved = np.maximum(curved, np.where(known, 0.0, _largest_beside(curved)))
    curved = np.concatenate((curved[:, :1], curved, curved[:, -1:]), axis=1)
    bent = (np.maximum(curved[:, 1:], curved[:, :-1]) * run**2 / 8 > _DOUBTED * allowed[:, None]).any(axis=0)
    finite = np.isfinite(lines)
    bent |= (finite[:, 1:] != finite[:, :-1])[0] | _next_to(at.x, special, "cusp")
    return bent & open_


def _largest_beside(curved: Array) -> Array:
    padded = np.pad(curved, ((0, 0), (2, 2)))
    count = curved.shape[1]
    parts = [padded[:, shift : shift + count] for shift in (0, 1, 3, 4)]
    beside: Array = np.maximum.reduce(parts)
    return beside


def _alone(at: Rows, special: tuple[SpecialPoint, ...]) -> Mask:
    """The rows at special points, where second differences do not measure curvature."""
    alone = at.gap | at.below | at.above
    alone[np.isin(at.x, [each.x for each in special])] = True
    return alone


def _slopes_near(x: Array, values: Array) -> Array:
    """The slope of forward near each row, from the two cells next to it."""
    with np.errstate(all="ignore"):
        slope = np.diff(values) / np.diff(x)
        mean = (slope[1:] + slope[:-1]) / 2
        return np.concatenate((2 * slope[:1] - mean[:1], mean, 2 * slope[-1:] - mean[-1:]))


_Look = Callable[[Array], Array]
# The distance, in pixels, of the extra points next to a kink, where the gradient jumps.
_BESIDE = 0.1
# The narrowest cell, in pixels, that is refined, however steep the curve; and next to a cusp, where the gradient is
# unbounded and each point would extend the range of its panel.
_NARROWEST, _NARROWEST_AT_CUSP = 0.002, 0.05
_MOST, _PASSES = 580, 12
# With fewer rows there are no second differences to look at.
_FEWEST = 5
# The step, in cells, of the differences that approximate the numerical gradient.
_STEP = 1e-5


def refinement_points(
    section: Section,
    reference: Section,
    at: Rows,
    values: Array,
    gradient: Array | None,
    special: tuple[SpecialPoint, ...],
    grad_output: float,
    precision: float = EPSILON,
) -> Array:
    """Points between the rows ``at`` that are needed to draw forward, its slope and backward's gradient accurately.

    ``values`` are those of the ``reference``'s forward at the rows, ``gradient`` is from the ``section``'s backward.
    Where each point costs a call of its own only the points next to kinks are returned. For a section that is smooth
    enough for its rows there are none, and nothing is evaluated.
    """
    extra = _beside(at, special)
    if not section.stacked or at.x.size < _FEWEST:
        return _new(section, at, extra)
    near = _STEP * (at.x[-1] - at.x[0]) / at.x.size
    sloped, returned = precision == EPSILON, gradient is not None

    def look(t: Array) -> Array:
        above, below = np.minimum(t + near, at.x[-1]), np.maximum(t - near, at.x[0])
        parts = reference.forward(np.concatenate((t, above, below)) if sloped else t).reshape(-1, t.size)
        lines = [parts[0]]
        if sloped:
            lines.append((parts[1] - parts[2]) / (above - below))
        if returned:
            found = section.backward(section.snap(t), grad_output).grad_input
            lines.append(np.zeros(t.size) if found is None else found)
        return np.stack(lines)

    lines, rounding = [values], [0.0]
    if sloped:
        lines, rounding = [*lines, _slopes_near(at.x, values)], [*rounding, 0.0]
    if gradient is not None:
        lines, rounding = [*lines, gradient], [*rounding, torch.finfo(section.dtype).eps]
    try:
        more = _refined(at, np.stack(lines), look, special, np.array(rounding))
    except FunctionFailed:  # forward accepts the rows but not the points between them
        more = np.empty(0)
    return _new(section, at, np.concatenate((extra, more)))


def _new(section: Section, at: Rows, points: Array) -> Array:
    """The points, rounded to the section's dtype, that are not among the rows yet."""
    points = np.unique(section.snap(points))
    return points[~np.isin(points, at.x)] if points.size else points


def _beside(at: Rows, special: tuple[SpecialPoint, ...]) -> Array:
    """Two points for each kink, right before and after the jump of the gradient."""
    near = _BESIDE / _PIXELS * (at.x[-1] - at.x[0])
    kinks = np.array([each.x for each in special if each.kind == "kink"])
    points = np.concatenate((kinks - near, kinks + near))
    after = np.searchsorted(at.x, points)
    inside = (after > 0) & (after < at.x.size)
    points, after = points[inside], after[inside]
    lonely = (points - at.x[after - 1] > near / 2) & (at.x[after] - points > near / 2)
    return np.sort(points[lonely])


def _refined(
    at: Rows, lines: Array, look: _Look, special: tuple[SpecialPoint, ...] = (), rounding: Array | None = None
) -> Array:
    """Points between the rows ``at`` with which no straight line is off by more than a quarter of a pixel.

    ``lines`` (lines × rows) are the curves' values at the rows, ``look`` evaluates them at other points. At most 580
    points, where they are needed most. Cells are selected by the second differences of ``lines``, and divided in three
    until the values lie on the chord. ``rounding`` is each line's unit in the last place. Cells next to a pole are
    left out; next to a cusp the gradient is unbounded, and only forward counts.
    """
    allowed = _allowed_of(at, lines, special, np.zeros(len(lines)) if rounding is None else rounding)
    cells = _cells(at, _doubted(at, lines, allowed, special), look, special)
    pixel = (at.x[-1] - at.x[0]) / _PIXELS
    extra, room = [np.empty(0)], _MOST
    for _ in range(_PASSES):
        if not cells.left.size:
            break
        points, seen = cells.thirds(look)
        off = cells.off(seen, allowed)
        narrowest = pixel * np.where(cells.cusp, _NARROWEST_AT_CUSP, _NARROWEST)
        wrong = np.flatnonzero((off > 1) & (cells.right - cells.left > narrowest))
        if 2 * wrong.size > room:
            # One point for each of them is better than two for half of them.
            wrong = wrong[np.argsort(-off[wrong], kind="stable")][:room]
            extra.append((cells.left[wrong] + cells.right[wrong]) / 2)
            break
        extra.append(points[:, wrong].ravel())
        room -= 2 * wrong.size
        cells = cells.cut(wrong, points, seen)
    return np.sort(np.concatenate(extra))


@dataclass(frozen=True)
class _Cells:
    """Cells with the values of all lines at their two ends; ``cusp`` marks those next to a cusp."""

    left: Array
    right: Array
    before: Array
    after: Array
    cusp: Mask

    def thirds(self, look: _Look) -> tuple[Array, Array]:
        """The points that divide each cell in three (2 × cells), and the lines there (lines × 2 × cells)."""
        third = (self.right - self.left) / 3
        points = np.stack((self.left + third, self.right - third))
        return points, look(points.ravel()).reshape(-1, *points.shape)

    def off(self, seen: Array, allowed: Array) -> Array:
        """How far the values at the thirds are off the chord, relative to ``allowed``; ∞ if only some are finite."""
        third = (self.after - self.before) / 3
        chord = np.stack((self.before + third, self.after - third), axis=1)
        with np.errstate(invalid="ignore"):
            off = (np.abs(seen - chord) / allowed[:, None, None]).max(axis=1)
        finite = np.isfinite(np.concatenate((self.before[:, None], self.after[:, None], seen), axis=1))
        off[~finite.all(axis=1)] = np.inf
        off[~finite.any(axis=1)] = 0.0
        off[1:, self.cusp] = 0.0
        worst: Array = off.max(axis=0)
        return worst

    def cut(self, which: NDArray[np.intp], points: Array, seen: Array) -> _Cells:
        """The thirds of some of the cells."""
        left, right, before, after = (each[..., which] for each in (self.left, self.right, self.before, self.after))
        points, seen = points[:, which], seen[..., which]
        return _Cells(
            np.concatenate((left, *points)),
            np.concatenate((*points, right)),
            np.concatenate((before, seen[:, 0], seen[:, 1]), axis=1),
            np.concatenate((seen[:, 0], seen[:, 1], after), axis=1),
            np.tile(self.cusp[which], 3),
        )


def _cells(at: Rows, doubtful: Mask, look: _Look, special: tuple[SpecialPoint, ...]) -> _Cells:
    """The cells to examine, without those next to a pole; one at a kink starts just beyond the gradient's jump."""
    which = np.flatnonzero(doubtful & ~_next_to(at.x, special, "pole"))
    kinks, near = [each.x for each in special if each.kind == "kink"], _BESIDE / _PIXELS * (at.x[-1] - at.x[0])
    left, right = at.x[which], at.x[which + 1]
    left, right = left + near * np.isin(left, kinks), right - near * np.isin(right, kinks)
    which, left, right = which[right > left], left[right > left], right[right > left]
    if not which.size:
        return _Cells(left, right, np.empty((1, 0)), np.empty((1, 0)), np.empty(0, bool))
    ends = look(np.concatenate((left, right)))
    cusp = _next_to(at.x, special, "cusp")[which]
    return _Cells(left, right, ends[:, : which.size], ends[:, which.size :], cusp)
