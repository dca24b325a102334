"""Recheck of doubtful slopes: measured a second time, by the finer one-sided ladder and by other steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Array, Forward
from .finite_differences import (
    EVIDENCE_BOUNDS,
    FINE_WIDEST_STEP,
    LADDER,
    LEVELS,
    RATIO,
    PointKind,
    Slopes,
    differentiate_one_sided,
)
from .richardson import extrapolate, tableau

# Other steps, in between those of the first ladder.
_OTHER_WIDEST = 0.6
# The finer ladder is also preferred where its error bound is this many times smaller.
_SURER = 10.0


def remeasure(
    forward: Forward, x: Array, y: Array, slopes: Slopes, rows: NDArray[np.intp], visible: Array | None = None
) -> Slopes:
    """The same slopes, with those of ``rows`` measured a second time by the finer ladder.

    Where the two contradict each other the finer one is taken, which is more local and one-sided. Elsewhere the error
    bound is widened by the difference between them, or from the slope by other steps if that is smaller. ``visible``,
    one for each of ``rows``, is the least visible slope; by default the rise of ``y`` over all of ``x``.
    """
    with np.errstate(all="ignore"):
        least = np.ptp(y[np.isfinite(y)]) / np.ptp(x) if visible is None else visible
        widest = FINE_WIDEST_STEP * slopes.step
        fine = differentiate_one_sided(forward, x[rows], y[rows], widest, slopes.noise[rows], slopes.precision, least)
        apart = np.abs(slopes.value[rows] - fine.value)
        stands = (fine.kind == PointKind.SMOOTH) & (apart <= EVIDENCE_BOUNDS * slopes.error[rows] + fine.error)
        other = _central(forward, x[rows], _OTHER_WIDEST * slopes.step, slopes.noise[rows], slopes.precision)
        widened = np.fmax(slopes.error[rows], np.fmin(apart, np.abs(slopes.value[rows] - other)))
        stands &= widened <= _SURER * fine.error
    value, error = slopes.value.copy(), slopes.error.copy()
    error[rows] = np.where(stands, widened, fine.error)
    value[rows] = np.where(stands, value[rows], fine.value)
    seen = {name: getattr(slopes, name).copy() for name in ("left", "right", "left_error", "right_error", "kind")}
    for name, column in seen.items():
        column[rows] = getattr(fine, name)
    return replace(slopes, value=value, error=error, **seen)


def _central(forward: Forward, x: Array, widest: float, rounding: Array, precision: float) -> Array:
    """The slopes by central differences alone."""
    above, below = x + widest * LADDER, x - widest * LADDER
    gaps = above - below
    high, low = forward(np.stack((above, below)).ravel()).reshape(2, LEVELS, x.size)
    central = (high - low) / gaps
    scatter = (rounding + precision * np.abs(x * central[-1])) / gaps
    return extrapolate(central, scatter, tableau(LEVELS, RATIO, 2))[0]
