"""The numerical partial derivatives over a plane: Richardson-extrapolated differences at all points in one call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import EPSILON, Array
from ..differentiation.finite_differences import (
    EVIDENCE_BOUNDS,
    FINE_WIDEST_STEP,
    LADDER,
    LEAST_ROUNDING,
    LEVELS,
    RATIO,
    WIDEST_LOW_PRECISION,
    WIDEST_STEP,
    PointKind,
    Slopes,
    differentiate_one_sided,
    kink_indicator,
)
from ..differentiation.recheck import remeasure
from ..differentiation.richardson import extrapolate, tableau

# The values of a forward at points of its plane: where along one axis, and which row of the grid each belongs to.
AxisForward = Callable[[Array, NDArray[np.intp]], Array]

# Relative tolerance, beside the error bounds, before a slope counts as contradicted.
_LEAST = 1e-13


def partial_slopes(
    ask: AxisForward, x: Array, y: Array, noise: Array, span: float, step: float | None, precision: float
) -> Slopes:
    """The slope along one axis at every row, where forward has the values ``y`` at ``x``.

    ``noise`` bounds the rounding of forward there, ``span`` is the length of the axis, ``step`` the widest difference
    (chosen if None), ``precision`` half a unit in the last place of what forward computes in. Eight forwards a point,
    fourteen more where these cannot settle it.
    """
    rows = np.arange(x.size)
    widest = step or (WIDEST_STEP if precision == EPSILON else WIDEST_LOW_PRECISION) * span
    finite = y[np.isfinite(y)]
    visible = float(np.ptp(finite)) / span if finite.size else 0.0
    steps = np.full(x.size, widest) * LADDER
    points = np.stack((x + steps, x - steps))
    above, below = ask(points.ravel(), np.tile(rows, 2 * LEVELS)).reshape(points.shape)
    gaps = points[0] - points[1]
    rounding = np.maximum(2 * precision * np.maximum(np.abs(above), np.abs(below)), LEAST_ROUNDING)
    rounding = np.maximum(rounding, 2 * noise)
    central = (above - below) / gaps
    scatter = (rounding + precision * np.abs(x * central[-1])) / gaps
    value, error, noisy = extrapolate(central, scatter, tableau(LEVELS, RATIO, 2))
    unsettled = ~(error <= 1e-9 * (np.abs(value) + visible) + 30 * noisy) | ~np.isfinite(y)
    second = above[-2:] + below[-2:] - 2 * y
    unsettled |= kink_indicator(second, 8 * rounding[-1] + 8 * precision * np.abs(x * value), visible * steps[-1])
    left, right, kind = value.copy(), value.copy(), np.zeros(x.size, np.int8)
    left_error, right_error = error.copy(), error.copy()
    rough = np.flatnonzero(unsettled)
    if rough.size:
        fine = differentiate_one_sided(
            _of(ask, rough), x[rough], y[rough], FINE_WIDEST_STEP * widest, rounding[-1, rough], precision, visible
        )
        agreed = np.abs(value[rough] - fine.value) <= error[rough] + fine.error
        stands = (fine.kind == PointKind.SMOOTH) & (error[rough] < fine.error) & agreed
        finer = (fine.value, fine.error, fine.left, fine.right, fine.left_error, fine.right_error)
        for ours, theirs in zip((value, error, left, right, left_error, right_error), finer, strict=True):
            ours[rough] = np.where(stands, ours[rough], theirs)
        kind[rough] = fine.kind
    forwards = 2.0 * LEVELS + (fine.forwards * rough.size / x.size if rough.size else 0.0)
    for each in (error, left_error, right_error):
        each += 1e-17 * visible
    sides = left, right, left_error, right_error
    return Slopes(value, error, *sides, kind, rounding[-1], forwards, widest, precision)


def remeasure_contradicted(
    ask: AxisForward, x: Array, y: Array, span: float, slopes: Slopes, expected: Array | None
) -> Slopes:
    """The same slopes, measured again where they are smooth and yet contradict what is ``expected``."""
    if expected is None:
        return slopes
    off = np.abs(expected - slopes.value)
    contrary = ~(off <= EVIDENCE_BOUNDS * slopes.error + _LEAST * np.abs(slopes.value))
    rows = np.flatnonzero((slopes.kind == PointKind.SMOOTH) & contrary)
    finite = y[np.isfinite(y)]
    if not rows.size or not finite.size:
        return slopes
    again = remeasure(_of(ask, rows), x, y, slopes, rows, np.full(rows.size, np.ptp(finite) / span))
    return replace(again, forwards=slopes.forwards + 2.0 * (LEVELS + 7) * rows.size / x.size)


def _of(ask: AxisForward, rows: NDArray[np.intp]) -> Callable[[Array], Array]:
    """A forward of points that belong to these rows, over and over."""
    return lambda points: ask(points, np.tile(rows, points.size // rows.size))
