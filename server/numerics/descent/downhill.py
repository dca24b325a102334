"""From the slopes of forward to the gradient of a loss: at kinks and jumps the side that leads downhill counts."""

from __future__ import annotations

import numpy as np

from ...runtime.arrays import Array
from ..differentiation.finite_differences import Kind, Slopes

BENT = (Kind.KINK, Kind.JUMP)


def downhill(slopes: Slopes, residual: Array) -> tuple[Array, bool]:
    """The gradient of the loss along each element of what moves, and whether forward is bent or torn there.

    ``residual`` is the derivative of the loss with respect to each element of the output. Along an element where
    forward has a kink the loss has two slopes: taken is that of the side to which it falls, of the steeper side if it
    falls to both, and 0 if it rises to both, which is the subgradient of least norm. On the side of a jump, and where
    forward is upright, there is none. NaN where forward has no finite value or no slope.
    """
    shape = (-1, residual.size)
    kind = slopes.kind.reshape(shape)
    value = slopes.value.reshape(shape)
    # A slope that is mostly doubt says nothing.
    value = np.where((kind == Kind.UNRESOLVED) & ~(slopes.error.reshape(shape) < np.abs(value)), 0.0, value)
    bent = np.isin(kind, BENT)
    gradient = _along(value, residual)
    rows = bent.any(axis=1)
    if rows.any():
        sides = [np.where(bent, side.reshape(shape), value)[rows] for side in (slopes.left, slopes.right)]
        behind, ahead = (_along(np.where(np.isfinite(side), side, np.nan), residual) for side in sides)
        left, right = np.where(behind > 0, behind, 0.0), np.where(ahead < 0, ahead, 0.0)
        gradient[rows] = np.where(left > -right, left, right)
    return gradient, bool(rows.any())


def _along(slope: Array, residual: Array) -> Array:
    """The slopes of the loss; an element of the output that is on goal does not matter, however steep it is."""
    return np.where(residual == 0, 0.0, slope * residual).sum(axis=1)
