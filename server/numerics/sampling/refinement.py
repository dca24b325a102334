"""Adaptive refinement: more points where straight lines between the rows would visibly miss the curves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from ...runtime.arrays import EPSILON, Array, Mask, largest_magnitude
from ...runtime.failure import FunctionFailed
from ...runtime.section import Section
from ..singularities.candidates import largest_beside
from ..singularities.special_points import SpecialPoint
from .grid import Rows

# unit: the width and height of the picture in pixels; and the bound of a line's error, in pixels too.
_PIXELS, _MAX_ERROR = 1000.0, 0.25
_SUSPECT = 0.5  # bound: cells with an estimated error above this share of it are examined
_MIN_CELL = 1e-4  # sample: in cells: a narrower one only separates the two sides of one place
_ULPS = 32.0  # ulps: errors below this many units of rounding do not justify a point


def _tolerances(at: Rows, lines: Array, special: tuple[SpecialPoint, ...], rounding: Array, noise: Array) -> Array:
    """A quarter of a pixel in each line's panel, which shows everything but the neighbourhood of poles.

    It is more where that is less than the ``rounding`` of a line, relative to its size, and its ``noise``.
    """
    shown = np.where(np.isfinite(lines), lines, np.nan)
    if special:
        hidden = _next_to(at.x, special, "pole")
        shown[:, np.append(hidden, False) | np.append(False, hidden) | at.gap] = np.nan
    high, low = (np.fmax.reduce(side, axis=1, initial=-np.inf) for side in (shown, -shown))
    rise = np.where(high + low > 0, high + low, np.inf)
    size = np.where(np.isfinite(rise), np.maximum(np.abs(high), np.abs(low)), 0.0)
    return np.maximum(_MAX_ERROR / _PIXELS * rise, _ULPS * (rounding * size + noise))


def _next_to(x: Array, special: tuple[SpecialPoint, ...], kind: str) -> Mask:
    """A mask of the cells next to a special point of this kind."""
    near = np.zeros(x.size - 1, bool)
    for each in special:
        if each.kind == kind:
            row = int(np.searchsorted(x, each.x))
            near[max(row - 1, 0) : row + 1] = True
    return near


def _curved_cells(at: Rows, lines: Array, allowed: Array, special: tuple[SpecialPoint, ...]) -> Mask:
    """The cells in which some line may be curved by more than is allowed, according to its second differences."""
    run = at.x[1:] - at.x[:-1]
    divisible = (run > _MIN_CELL * (at.x[-1] - at.x[0]) / at.x.size) & ~at.gap[1:] & ~at.gap[:-1]
    with np.errstate(all="ignore"):
        slope = (lines[:, 1:] - lines[:, :-1]) / run
        curvature = 2 * np.abs(slope[:, 1:] - slope[:, :-1]) / (run[1:] + run[:-1])
    if not special and (curvature.max(axis=1) * run.max() ** 2 / 8 <= _SUSPECT * allowed).all():
        return np.zeros(run.size, bool)
    special_rows = at.gap | at.below | at.above  # where second differences do not measure curvature
    if special:
        special_rows[np.isin(at.x, [each.x for each in special])] = True
    measured = np.isfinite(curvature) & ~special_rows[1:-1] & divisible[1:] & divisible[:-1]
    # The gradient jumps at a kink, so the rows next to one have a smooth neighbour on one side only.
    measured[1:] &= ~special_rows[2:] & ~special_rows[:-2]
    if not measured.all():
        curvature = np.where(measured, curvature, 0.0)
        # A row at a special point has no curvature of its own, and takes that of its neighbours.
        curvature = np.maximum(curvature, np.where(measured, 0.0, largest_beside(curvature.T, 1, 2).T))
    curvature = np.concatenate((curvature[:, :1], curvature, curvature[:, -1:]), axis=1)
    bent = (np.maximum(curvature[:, 1:], curvature[:, :-1]) * run**2 / 8 > _SUSPECT * allowed[:, None]).any(axis=0)
    finite = np.isfinite(lines[0])
    bent |= (finite[1:] != finite[:-1]) | _next_to(at.x, special, "cusp")
    return bent & divisible


def _slopes_near(x: Array, values: Array) -> Array:
    """The slope of forward near each row, from the two cells next to it."""
    with np.errstate(all="ignore"):
        slope = (values[1:] - values[:-1]) / (x[1:] - x[:-1])
        mean = (slope[1:] + slope[:-1]) / 2
        return np.concatenate((2 * slope[:1] - mean[:1], mean, 2 * slope[-1:] - mean[-1:]))


_Curves = Callable[[Array], Array]
_KINK_DISTANCE = 0.1  # sample: the distance, in pixels, of the extra points next to a kink, where the gradient jumps
# sample: the narrowest cell, in pixels, that is refined, however steep the curve; and next to a cusp, where the
# gradient is unbounded and each point would extend the range of its panel.
_MIN_WIDTH, _MIN_WIDTH_AT_CUSP = 0.002, 0.05
_MAX_POINTS, _PASSES = 580, 12  # budget: 401 rows become at most a thousand, and cells are cut so many times
_MIN_ROWS = 5  # budget: with fewer rows there are no second differences to look at
_SLOPE_STEP = 1e-5  # sample: the step, in cells, of the differences that approximate the numerical gradient


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
    There are none where each point costs a call of its own. For a section that is smooth enough for its rows there are
    none either, and nothing is evaluated.
    """
    if not section.stacked or at.x.size < _MIN_ROWS:
        return np.empty(0)
    step = _SLOPE_STEP * (at.x[-1] - at.x[0]) / at.x.size
    with_slope, with_gradient = precision == EPSILON, gradient is not None

    def curves(t: Array) -> Array:
        above, below = np.minimum(t + step, at.x[-1]), np.maximum(t - step, at.x[0])
        parts = reference.forward(np.concatenate((t, above, below)) if with_slope else t).reshape(-1, t.size)
        lines = [parts[0]]
        if with_slope:
            lines.append((parts[1] - parts[2]) / (above - below))
        if with_gradient:
            lines.append(section.gradient(section.snap(t), grad_output))
        return np.stack(lines)

    known = [(values, 0.0, 0.0)]
    if with_slope:
        # Else the rounding of a difference is taken for bends of the slope, where that is the same everywhere.
        known.append((_slopes_near(at.x, values), 0.0, EPSILON * largest_magnitude(values) / step))
    if gradient is not None:
        known.append((gradient, torch.finfo(section.dtype).eps, 0.0))
    try:
        inner = _refine(at, curves, special, *map(np.array, zip(*known, strict=True)))
    except FunctionFailed:  # forward accepts the rows but not the points between them
        inner = np.empty(0)
    return _new_points(section, at, inner)


def kink_sides(section: Section, at: Rows, special: tuple[SpecialPoint, ...]) -> Array:
    """Two points for each kink, right before and after the jump of the gradient."""
    near = _KINK_DISTANCE / _PIXELS * (at.x[-1] - at.x[0])
    kinks = np.array([each.x for each in special if each.kind == "kink"])
    points = np.concatenate((kinks - near, kinks + near))
    after = np.searchsorted(at.x, points)
    inside = (after > 0) & (after < at.x.size)
    points, after = points[inside], after[inside]
    lonely = (points - at.x[after - 1] > near / 2) & (at.x[after] - points > near / 2)
    return _new_points(section, at, points[lonely])


def _new_points(section: Section, at: Rows, points: Array) -> Array:
    """The points, rounded to the section's dtype, that are not among the rows yet."""
    if not points.size:
        return points
    points = np.unique(section.snap(points))
    return points[at.x[np.minimum(np.searchsorted(at.x, points), at.x.size - 1)] != points]


def _refine(
    at: Rows, curves: _Curves, special: tuple[SpecialPoint, ...], lines: Array, rounding: Array, noise: Array
) -> Array:
    """Points between the rows ``at`` with which no straight line is off by more than a quarter of a pixel.

    ``lines`` (lines × rows) are the curves' values at the rows, ``curves`` evaluates them at other points. At most 580
    points, where they are needed most. Cells are selected by the second differences of ``lines``, and divided in three
    until the values lie on the chord. ``rounding`` is each line's unit in the last place, ``noise`` what it is off by
    for another reason. Cells next to a pole are left out; next to a cusp the gradient is unbounded, and only forward
    counts.
    """
    allowed = _tolerances(at, lines, special, rounding, noise)
    if not (doubtful := _curved_cells(at, lines, allowed, special)).any():
        return np.empty(0)
    cells = _cells(at, doubtful, curves, special)
    pixel = (at.x[-1] - at.x[0]) / _PIXELS
    extra, budget = [np.empty(0)], _MAX_POINTS
    for _ in range(_PASSES):
        if not cells.left.size:
            break
        points, values = cells.thirds(curves)
        errors = cells.errors(values, allowed)
        narrowest = pixel * np.where(cells.cusp, _MIN_WIDTH_AT_CUSP, _MIN_WIDTH)
        coarse = np.flatnonzero((errors > 1) & (cells.right - cells.left > narrowest))
        if 2 * coarse.size > budget:
            # One point for each of them is better than two for half of them.
            coarse = coarse[np.argsort(-errors[coarse], kind="stable")][:budget]
            extra.append((cells.left[coarse] + cells.right[coarse]) / 2)
            break
        extra.append(points[:, coarse].ravel())
        budget -= 2 * coarse.size
        cells = cells.cut(coarse, points, values)
    return np.sort(np.concatenate(extra))


@dataclass(frozen=True)
class _Cells:
    """Cells with the values of all lines at their two ends; ``cusp`` marks those next to a cusp."""

    left: Array
    right: Array
    before: Array
    after: Array
    cusp: Mask

    def thirds(self, curves: _Curves) -> tuple[Array, Array]:
        """The points that divide each cell in three (2 × cells), and the lines there (lines × 2 × cells)."""
        third = (self.right - self.left) / 3
        points = np.stack((self.left + third, self.right - third))
        return points, curves(points.ravel()).reshape(-1, *points.shape)

    def errors(self, values: Array, allowed: Array) -> Array:
        """How far the values at the thirds are off the chord, relative to ``allowed``; ∞ if only some are finite."""
        third = (self.after - self.before) / 3
        chord = np.stack((self.before + third, self.after - third), axis=1)
        with np.errstate(invalid="ignore"):
            error = (np.abs(values - chord) / allowed[:, None, None]).max(axis=1)
        finite = np.isfinite(np.concatenate((self.before[:, None], self.after[:, None], values), axis=1))
        error[~finite.all(axis=1)] = np.inf
        error[~finite.any(axis=1)] = 0.0
        error[1:, self.cusp] = 0.0
        worst: Array = error.max(axis=0)
        return worst

    def cut(self, cells: NDArray[np.intp], points: Array, values: Array) -> _Cells:
        """The thirds of some of the cells."""
        left, right, before, after = (each[..., cells] for each in (self.left, self.right, self.before, self.after))
        points, values = points[:, cells], values[..., cells]
        return _Cells(
            np.concatenate((left, *points)),
            np.concatenate((*points, right)),
            np.concatenate((before, values[:, 0], values[:, 1]), axis=1),
            np.concatenate((values[:, 0], values[:, 1], after), axis=1),
            np.tile(self.cusp[cells], 3),
        )


def _cells(at: Rows, doubtful: Mask, curves: _Curves, special: tuple[SpecialPoint, ...]) -> _Cells:
    """The cells to examine, without those next to a pole; one at a kink starts just beyond the gradient's jump."""
    which = np.flatnonzero(doubtful & ~_next_to(at.x, special, "pole"))
    kinks, near = [each.x for each in special if each.kind == "kink"], _KINK_DISTANCE / _PIXELS * (at.x[-1] - at.x[0])
    left, right = at.x[which], at.x[which + 1]
    if kinks:
        left, right = left + near * np.isin(left, kinks), right - near * np.isin(right, kinks)
        which, left, right = which[right > left], left[right > left], right[right > left]
    if not which.size:
        return _Cells(left, right, np.empty((1, 0)), np.empty((1, 0)), np.empty(0, bool))
    ends = curves(np.concatenate((left, right)))
    cusp = _next_to(at.x, special, "cusp")[which]
    return _Cells(left, right, ends[:, : which.size], ends[:, which.size :], cusp)
