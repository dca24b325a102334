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
from ..verdict.slope_judge import Statuses, error_band, judge_slopes, without_remarks
from .axes import PlaneGrid

_Combine = Callable[[NDArray[np.generic], NDArray[np.generic]], NDArray[np.generic]]


@dataclass(frozen=True)
class PlaneJudge:
    """Judges what backward returned for ``grad_output`` over a plane, one component at a time, as curves are judged.

    ``slopes`` are those of forward along both axes.
    """

    ground: PlaneGrid
    slopes: tuple[Slopes, Slopes]
    grad_output: float
    allowance: Allowance

    def numerical(self, axis: int) -> Array:
        """What differences call for."""
        return self.grad_output * self.slopes[axis].value

    def tolerance(self, axis: int) -> Tolerance:
        """What was asked for, or last places of a slope and of the largest in sight but for those beside poles."""
        return self.allowance.tolerance(abs(self.grad_output) * self._steepest(axis))

    @np.errstate(all="ignore")
    def allowed(self, axis: int, lost: Array | float) -> Allowed:
        """What is allowed at every point, as on a curve along its line; ``lost`` in a short dtype."""
        steepest, share = self._steepest(axis), np.empty(self.ground.values.size)
        for line in self.ground.lines(axis):
            share[line] = local_scale([self.slopes[axis].value[line]], steepest)
        return self.allowance.at_places(abs(self.grad_output) * steepest, share, lost)

    def statuses(self, axis: int, returned: Array, allowed: Allowed) -> Statuses:
        """A status a point, without remarks."""
        slopes, numerical = self.slopes[axis], self.numerical(axis)
        largest = largest_magnitude(numerical) + abs(self.grad_output) * self.ground.heights[axis]
        status = judge_slopes(returned, slopes, self.grad_output, allowed, self.allowance.dtype, largest)
        return without_remarks(status, np.abs(returned - numerical), numerical) if self.allowance.remarks else status

    def agree(self, returned: tuple[Array | None, Array | None]) -> bool:
        """Whether the components that there are are as these slopes call for, wherever that can be told."""
        known = [
            self.statuses(axis, component, self.allowed(axis, self.tolerance(axis).atol))
            for axis, component in enumerate(returned)
            if component is not None
        ]
        return bool(known) and all((Status.AGREES in each) and (Status.DIFFERS not in each) for each in known)

    @np.errstate(all="ignore")
    def with_subgradients(self, axis: int, status: Statuses, returned: Array) -> Statuses:
        """The statuses of one component with a subgradient where forward bends at the point or next to it.

        Right is all that lies between the slopes of the points around it; along its own axis alone such a point may
        seem smooth, as the corner where two ridges meet.
        """
        slopes, shape, tolerance = self.slopes[axis], self.ground.lines(0).shape, self.tolerance(axis)
        bent = np.logical_or(*(each.kind == PointKind.KINK for each in self.slopes))
        suspect = (status == Status.DIFFERS) & _with_neighbours(bent, np.logical_or, shape)
        if not suspect.any():
            return status
        # One side of a jump is as steep as can be, and allows nothing.
        scale = np.where(slopes.kind == PointKind.JUMP, np.nan, self.grad_output)
        sides = [scale * each for each in (slopes.value, slopes.left, slopes.right)]
        measurable = np.isin(slopes.kind, (PointKind.KINK, PointKind.SMOOTH)) & np.isfinite(slopes.error_by_kind)
        band = error_band(np.where(measurable, slopes.error_by_kind, 0.0), self.grad_output)
        low = np.asarray(_with_neighbours(reduce(np.fmin, sides) - band, np.fmin, shape), np.float64)
        high = np.asarray(_with_neighbours(reduce(np.fmax, sides) + band, np.fmax, shape), np.float64)
        slack = tolerance.atol + tolerance.rtol * (high - low + np.abs(returned))
        right = (returned >= low - slack) & (returned <= high + slack)
        return np.where(suspect & right, Status.SUBGRADIENT, status).astype(np.int8)

    def _steepest(self, axis: int) -> float:
        """The largest slope in sight, but for those beside poles."""
        slopes = self.slopes[axis]
        poles = (slopes.kind == PointKind.NONFINITE).any()
        return largest_magnitude(slopes.value, STEEPNESS_QUANTILE if poles else 1.0)


def _with_neighbours(values: NDArray[np.generic], combine: _Combine, shape: tuple[int, ...]) -> NDArray[np.generic]:
    """Each value combined with its eight neighbours by ``combine``."""
    rows, columns = shape
    padded = np.pad(values.reshape(shape), 1, mode="edge")
    return reduce(combine, [padded[i : i + rows, j : j + columns] for i in range(3) for j in range(3)]).ravel()
