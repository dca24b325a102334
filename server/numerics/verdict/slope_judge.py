"""The judge of a point: a status for a gradient that was returned, from the measured slope of forward there."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from ...runtime.arrays import Array, Mask, largest_magnitude
from ..differentiation.finite_differences import EVIDENCE_BOUNDS, PointKind, Slopes
from ..status import Status
from ..tolerance import REMARK_SHARE, Allowed

Statuses = NDArray[np.int8]
_UNDERFLOW = 1e-30  # bound: where forward has underflowed to 0, gradients up to this are accepted


@np.errstate(all="ignore")
def judge_slopes(
    returned: Array, slopes: Slopes, grad_output: float, allowed: Allowed, dtype: torch.dtype, largest: float
) -> Statuses:
    """A status for each number that backward ``returned`` for ``grad_output``, against the ``slopes`` of forward.

    ``largest`` is the size of the gradients in sight: the largest slope and, as a constant has none, the height of
    forward for its range, both times ``grad_output``. ``dtype`` is that of what was returned.
    """
    kind, scale = slopes.kind, abs(grad_output)
    expected, off = scale * np.abs(slopes.value), np.abs(returned - grad_output * slopes.value)
    leeway = allowed.leeway(expected, error_band(slopes.error + allowed.rounded, grad_output))
    near = off <= leeway.total
    if not (largest or expected.any()):  # what is so small that nothing was seen of it is nothing
        near |= off <= _UNDERFLOW
    vague = leeway.vague(returned, expected + largest, allowed.tolerance.atol)

    if near.all() and not (vague.any() or kind.any()) and np.isfinite(off).all():
        return np.full(kind.shape, Status.AGREES, np.int8)
    status = np.full(kind.shape, Status.GAP, np.int8)
    smooth, edge, kink = kind == PointKind.SMOOTH, kind == PointKind.EDGE, kind == PointKind.KINK
    status[smooth] = np.where(near, np.where(vague, Status.UNDECIDED, Status.AGREES), Status.DIFFERS)[smooth]
    status[edge] = np.where(near, Status.AGREES, Status.EDGE)[edge]
    if kink.any():
        atol = np.broadcast_to(allowed.tolerance.atol * allowed.share + allowed.lost, kind.shape)[kink]
        status[kink] = judge_kinks(grad_output, returned[kink], slopes.at(kink), atol, allowed.tolerance.rtol)
    unresolved = kind == PointKind.UNRESOLVED
    status[unresolved] = Status.UNDECIDED
    status[smooth & ~np.isfinite(returned)] = Status.DIFFERS
    status[(unresolved | kink) & np.isnan(returned)] = Status.DIFFERS
    status[_overflows(returned, slopes, grad_output, dtype)] = Status.GAP
    status[kind == PointKind.JUMP] = Status.JUMP
    return status


def without_remarks(status: Statuses, off: Array, expected: Array) -> Statuses:
    """The statuses, with none that differs if all that do are off by at most a remark: of the slope ``expected`` there.

    Where that is nothing, of the largest.
    """
    differs, size, largest = status == Status.DIFFERS, np.abs(expected), largest_magnitude(expected)
    nearby = np.where(size > REMARK_SHARE * largest, size, largest)
    if not differs.any() or not (off[differs] <= REMARK_SHARE * nearby[differs]).all():
        return status
    return np.where(differs, Status.AGREES, status).astype(np.int8)


def judge_kinks(grad_output: float, returned: Array, slopes: Slopes, atol: Array | float, rtol: float) -> Statuses:
    """The status at kinks: any slope between the two one-sided slopes, within their error bounds, is a subgradient."""
    sides = grad_output * np.stack((slopes.left, slopes.right))
    bands = error_band(np.stack((slopes.left_error, slopes.right_error)), grad_output)
    low, high = (sides - bands).min(axis=0), (sides + bands).max(axis=0)
    slack = atol + rtol * (np.abs(returned) + np.abs(high - low))
    between = (returned >= low - slack) & (returned <= high + slack)
    unknown = ~(np.isfinite(low) & np.isfinite(high) | np.isnan(returned))
    return np.where(unknown, Status.UNDECIDED, np.where(between, Status.SUBGRADIENT, Status.DIFFERS)).astype(np.int8)


def error_band(error: Array, grad_output: float) -> Array:
    """How far a gradient may be from a measured slope, times ``grad_output``, because of the error of that."""
    return EVIDENCE_BOUNDS * abs(grad_output) * error


def _overflows(returned: Array, slopes: Slopes, grad_output: float, dtype: torch.dtype) -> Mask:
    """Where the gradient is more than the dtype can hold, and backward returned the infinity of its sign."""
    expected = grad_output * slopes.value
    beyond = np.abs(expected) + error_band(slopes.error, grad_output) > torch.finfo(dtype).max
    return np.isinf(returned) & beyond & (np.sign(returned) == np.sign(expected))
