"""The status of every point of a plane: one component of what backward returned against the numerical slope."""

from __future__ import annotations

import numpy as np
import torch

from ...runtime.arrays import Array, largest_magnitude
from ..differentiation.finite_differences import EVIDENCE_BOUNDS, PointKind, Slopes
from ..differentiation.noise import STEEPNESS_QUANTILE
from ..status import Status
from ..tolerance import Tolerance, tolerance_for
from ..verdict.cell_judge import Statuses
from ..verdict.point_judge import UNDECIDED_SHARE, judge_kinks


def plane_tolerance(slopes: Slopes, grad_output: float, dtype: torch.dtype) -> Tolerance:
    """Some last places of the dtype, of a slope itself and of the largest in sight but for those beside poles."""
    share = STEEPNESS_QUANTILE if (slopes.kind == PointKind.NONFINITE).any() else 1.0
    return tolerance_for(abs(grad_output) * largest_magnitude(slopes.value, share), dtype)


@np.errstate(all="ignore")
def judge_plane_points(
    returned: Array, slopes: Slopes, grad_output: float, tolerance: Tolerance, lost: Array, height: float
) -> Statuses:
    """A status a point, as for curves: ``returned`` against ``grad_output`` times the slopes of a forward.

    ``lost`` is what a short dtype has lost of what backward returns, ``height`` the largest value of forward for the
    length of the axis: a constant has no slope to measure bounds by.
    """
    kind, scale = slopes.kind, abs(grad_output)
    expected, off = scale * np.abs(slopes.value), np.abs(returned - grad_output * slopes.value)
    allowed, band = tolerance.atol + tolerance.rtol * expected, EVIDENCE_BOUNDS * scale * slopes.error + lost
    near = off <= allowed + band
    vague = band > allowed + UNDECIDED_SHARE * (expected + scale * (largest_magnitude(slopes.value) + height))
    status = np.full(kind.shape, Status.GAP, np.int8)
    smooth, edge, kink = kind == PointKind.SMOOTH, kind == PointKind.EDGE, kind == PointKind.KINK
    status[smooth] = np.where(near, np.where(vague, Status.UNDECIDED, Status.AGREES), Status.DIFFERS)[smooth]
    status[edge] = np.where(near, Status.AGREES, Status.EDGE)[edge]
    if kink.any():
        status[kink] = judge_kinks(grad_output, returned, slopes, tolerance.atol, tolerance.rtol)[kink]
    status[kind == PointKind.UNRESOLVED] = Status.UNDECIDED
    status[kind == PointKind.JUMP] = Status.JUMP
    status[(smooth | kink) & ~np.isfinite(returned)] = Status.DIFFERS
    return status


def allowed_plane_error(slopes: Slopes, grad_output: float, tolerance: Tolerance, lost: Array) -> Array:
    """The largest distance of what is returned from the numerical slope that is tolerated."""
    with np.errstate(all="ignore"):
        scale = abs(grad_output)
        return (
            tolerance.atol
            + tolerance.rtol * scale * np.abs(slopes.value)
            + EVIDENCE_BOUNDS * scale * slopes.error
            + lost
        )
