"""The potential function of a field over a plane: the line integral of which the field is the gradient."""

from __future__ import annotations

import numpy as np

from ...runtime.arrays import Array
from ..differentiation.quadrature import NODES, WEIGHTS
from .circulation import VectorField


@np.errstate(all="ignore")
def potential_function(field: VectorField, x: Array, y: Array, grad_output: float, like: Array) -> Array:
    """The line integral of ``field / grad_output`` at the points ``x`` × ``y``, flat, row by row of one y.

    From the middle of the row that is known farthest, and from there up and down; NaN where no number leads to.
    Its mean is that of ``like``, for a gradient says nothing of the height. Raises ``FunctionFailed``.
    """
    s, t = np.meshgrid(x, y)
    width, height = np.diff(x), np.diff(y)
    across = s[:, :-1] + width * NODES[:, None, None], np.broadcast_to(t[:, :-1], (NODES.size, y.size, width.size))
    up = np.broadcast_to(s[:-1], (NODES.size, height.size, x.size)), t[:-1] + height[:, None] * NODES[:, None, None]
    sides, rises = (
        np.tensordot(WEIGHTS, field(a.ravel(), b.ravel())[row].reshape(a.shape), 1)
        for row, (a, b) in enumerate((across, up))
    )
    sides, rises = sides * width / grad_output, rises * height[:, None] / grad_output
    row = int(np.isfinite(sides).sum(axis=1).argmax())
    base = _summed(sides[row], x.size // 2)
    found = np.array([_summed(each, row) for each in rises.T]).T + base
    flat = found.ravel()
    known = np.isfinite(flat) & np.isfinite(like)
    return flat + (like[known].mean() - flat[known].mean() if known.any() else 0.0)


def _summed(steps: Array, start: int) -> Array:
    """The sums of steps from the place ``start``, where it is 0, in both directions."""
    return np.concatenate((-np.cumsum(steps[:start][::-1])[::-1], [0.0], np.cumsum(steps[start:])))
