"""Points on or next to a kink line of a plane: any slope between those of the neighbours counts as a subgradient."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Array
from ..differentiation.finite_differences import EVIDENCE_BOUNDS, PointKind, Slopes
from ..status import Status
from ..tolerance import Tolerance
from ..verdict.cell_judge import Statuses
from .axes import PlaneGrid

_Pick = Callable[[NDArray[np.generic], NDArray[np.generic]], NDArray[np.generic]]


@np.errstate(all="ignore")
def accept_subgradients(
    ground: PlaneGrid,
    status: Statuses,
    returned: Array,
    slopes: Slopes,
    across: Slopes,
    grad_output: float,
    tolerance: Tolerance,
) -> Statuses:
    """The statuses of one component with a subgradient where forward bends at the point or next to it.

    Right is all that lies between the slopes of the points around it; along its own axis alone such a point may seem
    smooth, as the corner where two ridges meet. ``across`` are the slopes in the other direction.
    """
    shape = ground.lines(0).shape
    bent = (slopes.kind == PointKind.KINK) | (across.kind == PointKind.KINK)
    rows = np.flatnonzero((status == Status.DIFFERS) & _around(bent, np.logical_or, shape))
    if not rows.size:
        return status
    # One side of a jump is as steep as can be, and allows nothing.
    scale = np.where(slopes.kind == PointKind.JUMP, np.nan, grad_output)
    sides = [scale * each for each in (slopes.value, slopes.left, slopes.right)]
    error = slopes.error_by_kind
    measured = (slopes.kind == PointKind.KINK) | (slopes.kind == PointKind.SMOOTH)
    known = measured & np.isfinite(error)
    band = abs(grad_output) * EVIDENCE_BOUNDS * np.where(known, error, 0.0)
    low = np.asarray(_around(reduce(np.fmin, sides) - band, np.fmin, shape), np.float64)
    high = np.asarray(_around(reduce(np.fmax, sides) + band, np.fmax, shape), np.float64)
    slack = tolerance.atol + tolerance.rtol * (high - low + np.abs(returned))
    fine = (returned >= low - slack) & (returned <= high + slack)
    found = status.copy()
    found[rows[fine[rows]]] = Status.SUBGRADIENT
    return found


def _around(values: NDArray[np.generic], pick: _Pick, shape: tuple[int, ...]) -> NDArray[np.generic]:
    """Each value combined with its eight neighbours by ``pick``."""
    rows, columns = shape
    padded = np.pad(values.reshape(shape), 1, mode="edge")
    return reduce(pick, [padded[i : i + rows, j : j + columns] for i in range(3) for j in range(3)]).ravel()
