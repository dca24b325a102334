"""The status of every cell between two points, from the integral check, alone and in runs of neighbouring cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Array
from ..curve.integral_check import IntegralCheck
from ..status import Status
from ..tolerance import Tolerance

Statuses = NDArray[np.int8]

# Cells are judged alone and in runs of these lengths: a small error everywhere adds up over a run, while rounding
# enters only at its two ends.
_RUNS = (1, 4, 16, 64)
# A cell is undecided if its tolerance is more than this share of the steepest slope times its width.
_WIDE = 0.1


def judge_cells(area: IntegralCheck, tolerance: Tolerance, share: Array, in_sight: float, crooked: Array) -> Statuses:
    """A status a cell: whether forward rises by the area under what backward returned.

    ``in_sight`` is the largest ``grad_input`` that is called for and returned, ``share`` how much of the tolerance
    holds at each end of a cell, ``crooked`` how far a slope is off there because ``x`` and the gradient are rounded.
    """
    with np.errstate(all="ignore"):
        width = area.right - area.left
        off, held = area.residual, tolerance.atol * np.maximum(share[:-1], share[1:])
        slack = width * (held + np.maximum(crooked[:-1], crooked[1:])) + tolerance.rtol * np.abs(area.area)
        slack += area.unsure
        known = np.isfinite(off)
        status = np.full(off.shape, Status.GAP, np.int8)
        status[known] = Status.UNDECIDED
        status[known & area.leaps] = Status.JUMP
        fit = known & ~area.leaps
        for length in _RUNS:
            _judge_runs(status, fit, off, slack, area.noise, width * in_sight, length)
    return status


def allowed_residual(area: IntegralCheck, tolerance: Tolerance) -> Array:
    """The largest residual that each cell may have and still agree."""
    slack = (area.right - area.left) * tolerance.atol + tolerance.rtol * np.abs(area.area)
    return slack + area.unsure + area.noise[:-1] + area.noise[1:]


def _judge_runs(
    status: Statuses, fit: NDArray[np.bool_], off: Array, slack: Array, noise: Array, steepest: Array, length: int
) -> None:
    """Judge all runs of ``length`` cells with no gap and no culprit in them; the verdict holds for all its cells."""
    count = off.size // length
    if not count:
        return
    shape = (count, length)
    runs = slice(0, count * length)
    view = status[runs].reshape(shape)
    whole = (fit[runs].reshape(shape) & (view != Status.DIFFERS)).all(axis=1)
    residual = np.abs(np.where(fit, off, 0.0)[runs].reshape(shape).sum(axis=1))
    ends = noise[: count * length : length] + noise[length : count * length + 1 : length]
    allowed = slack[runs].reshape(shape).sum(axis=1) + ends
    clear = allowed <= _WIDE * steepest[runs].reshape(shape).sum(axis=1)
    view[whole & (residual > allowed)] = Status.DIFFERS
    agrees = whole & (residual <= allowed) & clear
    view[agrees[:, None] & (view == Status.UNDECIDED)] = Status.AGREES
