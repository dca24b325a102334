"""How far what backward returned is off at the rows of a section."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...runtime.arrays import Array
from ..curve.curve import Curve
from ..curve.evaluation import Evaluation
from ..differentiation.finite_differences import PointKind
from ..formatting.difference_size import slope_share


@dataclass(frozen=True)
class Difference:
    """How far backward is ``off`` at ``x``: from the ``slope`` times grad_output, ``nearby`` the largest of those."""

    x: float
    off: float
    slope: float
    nearby: float

    @property
    def share(self) -> float | None:
        """How far as a share of the slope there, None where that is nothing."""
        return slope_share(self.off, self.slope, self.nearby)


def difference_at(evaluation: Evaluation, curve: Curve, row: int) -> Difference:
    """How far what backward returned at a row is off: at a kink from the nearer one of the slopes of both sides."""
    return Difference(*(float(each[row]) for each in differences_at_rows(evaluation, curve)))


def differences_at_rows(evaluation: Evaluation, curve: Curve) -> tuple[Array, Array, Array, Array]:
    """The members of a ``Difference`` for all rows; backward must have returned something."""
    slopes, size, returned = curve.slopes, evaluation.grad_output, evaluation.analytical
    assert returned is not None
    sides = size * np.stack((slopes.left, slopes.right))
    nearest = np.clip(returned, sides.min(axis=0), sides.max(axis=0))
    right = np.where(slopes.kind == PointKind.KINK, nearest, size * slopes.value)
    nearby = np.fmax(np.abs(right), evaluation.local_scale * evaluation.largest_gradient)
    return evaluation.rows.x, np.abs(returned - right), right, nearby
