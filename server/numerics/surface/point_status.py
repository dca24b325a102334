"""The status of every point of a plane: one component of what backward returned against the numerical slope."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Array, largest_magnitude
from ..curve.curve import local_scale
from ..differentiation.finite_differences import PointKind, Slopes
from ..differentiation.noise import STEEPNESS_QUANTILE
from ..status import Status
from ..tolerance import Allowance, Allowed, Tolerance
from ..verdict.slope_judge import Statuses, error_band, judge_slopes
from .axes import PlaneGrid

_Combine = Callable[[NDArray[np.generic], NDArray[np.generic]], NDArray[np.generic]]


@dataclass(frozen=True)
class PlaneJudge:
    """Judges what backward returned for ``grad_output`` over a plane, one component at a time, as curves are judged."""

    ground: PlaneGrid
    grad_output: float
    allowance: Allowance

    def tolerance(self, slopes: Slopes) -> Tolerance:
        """What was asked for, or last places of a slope and of the largest in sight but for those beside poles."""
        return self.allowance.tolerance(abs(self.grad_output) * _steepest(slopes))

    @np.errstate(all="ignore")
    def allowed(self, axis: int, slopes: Slopes, lost: Array | float) -> Allowed:
        """What is allowed at every point, as on a curve along its line; ``lost`` in a short dtype."""
        steepest, share = _steepest(slopes), np.empty(slopes.value.size)
        for line in self.ground.lines(axis):
            share[line] = local_scale([slopes.value[line]], steepest)
        return self.allowance.at_places(abs(self.grad_output) * steepest, share, lost)

    def statuses(self, axis: int, returned: Array, slopes: Slopes, allowed: Allowed) -> Statuses:
        """A status a point."""
        largest = abs(self.grad_output) * (largest_magnitude(slopes.value) + self.ground.heights[axis])
        return judge_slopes(returned, slopes, self.grad_output, allowed, self.allowance.dtype, largest)

    def agree(self, returned: tuple[Array | None, Array | None], slopes: tuple[Slopes, Slopes]) -> bool:
        """Whether the components that there are are as these slopes call for, wherever that can be told."""
        for axis, component in enumerate(returned):
            if component is None:
                continue
            allowed = self.allowed(axis, slopes[axis], self.tolerance(slopes[axis]).atol)
            status = self.statuses(axis, component, slopes[axis], allowed)
            if (status == Status.DIFFERS).any() or not (status == Status.AGREES).any():
                return False
        return any(each is not None for each in returned)


def _steepest(slopes: Slopes) -> float:
    """The largest slope in sight, but for those beside poles."""
    return largest_magnitude(slopes.value, STEEPNESS_QUANTILE if (slopes.kind == PointKind.NONFINITE).any() else 1.0)


@np.errstate(all="ignore")
def accept_subgradients(
    judge: PlaneJudge, status: Statuses, returned: Array, slopes: Slopes, across: Slopes
) -> Statuses:
    """The statuses of one component with a subgradient where forward bends at the point or next to it.

    Right is all that lies between the slopes of the points around it; along its own axis alone such a point may seem
    smooth, as the corner where two ridges meet. ``across`` are the slopes in the other direction.
    """
    grad_output, tolerance = judge.grad_output, judge.tolerance(slopes)
    shape = judge.ground.lines(0).shape
    bent = (slopes.kind == PointKind.KINK) | (across.kind == PointKind.KINK)
    rows = np.flatnonzero((status == Status.DIFFERS) & _with_neighbours(bent, np.logical_or, shape))
    if not rows.size:
        return status
    # One side of a jump is as steep as can be, and allows nothing.
    scale = np.where(slopes.kind == PointKind.JUMP, np.nan, grad_output)
    sides = [scale * each for each in (slopes.value, slopes.left, slopes.right)]
    error = slopes.error_by_kind
    measurable = ((slopes.kind == PointKind.KINK) | (slopes.kind == PointKind.SMOOTH)) & np.isfinite(error)
    band = error_band(np.where(measurable, error, 0.0), grad_output)
    low = np.asarray(_with_neighbours(reduce(np.fmin, sides) - band, np.fmin, shape), np.float64)
    high = np.asarray(_with_neighbours(reduce(np.fmax, sides) + band, np.fmax, shape), np.float64)
    slack = tolerance.atol + tolerance.rtol * (high - low + np.abs(returned))
    right = (returned >= low - slack) & (returned <= high + slack)
    accepted = status.copy()
    accepted[rows[right[rows]]] = Status.SUBGRADIENT
    return accepted


def _with_neighbours(values: NDArray[np.generic], combine: _Combine, shape: tuple[int, ...]) -> NDArray[np.generic]:
    """Each value combined with its eight neighbours by ``combine``."""
    rows, columns = shape
    padded = np.pad(values.reshape(shape), 1, mode="edge")
    return reduce(combine, [padded[i : i + rows, j : j + columns] for i in range(3) for j in range(3)]).ravel()
