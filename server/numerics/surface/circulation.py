"""Line integrals of a field by Gauss–Legendre quadrature: its circulation around rectangles, and its potential."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...runtime.arrays import EPSILON, Array, Mask, largest_magnitude, mantissa_bits
from ..curve.integral_check import TRUNCATION_SHARE
from ..differentiation.noise import looks_rounded
from ..differentiation.quadrature import NODES, WEIGHTS

VectorField = Callable[[Array, Array], tuple[Array, Array]]  # the two components of a field at points (s, t)
# ulps: what a field may lose by rounding, in units of the precision that it carries: a short one is felt at every node.
_ULPS, _ULPS_SHORT = 256.0, 16.0
_FAR = 1 / 16  # bound: what it is computed from may be as large as it is anywhere; this share of that is felt as well
# sample: where in its part of an area each rectangle lies, so that none lies on a line that means something.
_OFFSETS = np.array([0.382, 0.295])


@dataclass(frozen=True)
class Rectangles:
    """Rectangles, one element each, and the circulation of a field: its line integral once around, anticlockwise.

    ``allowed`` is what that may be by rounding and truncation, ``strength`` the largest integral along
    an edge of any of them. ``precision`` is half
    a unit in the last place of what the field carries.
    """

    x: Array
    y: Array
    width: Array
    height: Array
    circulation: Array
    allowed: Array
    strength: float
    precision: float

    @property
    def curl(self) -> Array:
        """The circulation for each unit of area."""
        return self.circulation / (self.width * self.height)

    def turns(self, allowed: Array | float) -> Mask:
        """Around which of them the circulation is more than that."""
        return np.abs(self.circulation) > allowed


def scattered_rectangles(field: VectorField, areas: tuple[Array, ...], count: int, share: float) -> Rectangles:
    """The circulation around ``count`` × ``count`` rectangles in each of some areas, each a ``share`` of it a side.

    ``areas`` are the x and y of their lower left corners, their widths and heights. The rectangles are scattered over
    the parts of each, those of the first part of every area first. Three nodes an edge, all in one question to the
    field. Raises ``FunctionFailed``.
    """
    x, y, width, height = areas
    column, row = (each.ravel() for each in np.meshgrid(np.arange(count), np.arange(count)))
    off = np.arange(count * count * x.size) * _OFFSETS[:, None] % 1 * (1 - count * share)
    off = off.reshape(2, count * count, x.size)
    x0 = (x + width * (column[:, None] + off[0]) / count).ravel()
    y0 = (y + height * (row[:, None] + off[1]) / count).ravel()
    width, height = (np.tile(share * each, count * count) for each in (width, height))
    one = np.ones((NODES.size, 1))
    across, up = x0 + width * NODES[:, None], y0 + height * NODES[:, None]
    s = np.stack((across, one * (x0 + width), across, one * x0))
    t = np.stack((one * y0, up, one * (y0 + height), up))
    first, second = (each.reshape(s.shape) for each in field(s.ravel(), t.ravel()))
    precision = max(map(_carried_precision, (first, second)))
    sides = np.stack((first[0], second[1], first[2], second[3]))
    length = np.stack((width, height, width, height))
    bottom, right, top, left = integral = length * np.einsum("n,enk->ek", WEIGHTS, sides)
    size, bend = np.abs(sides).max(axis=1), np.abs(sides[:, 0] - 2 * sides[:, 1] + sides[:, 2])
    # What three nodes may miss, guessed from what they see: the next order of a falling series.
    missed = TRUNCATION_SHARE * np.nan_to_num((bend / size) ** 2) * bend
    ulps, felt = _ULPS if precision == EPSILON else _ULPS_SHORT, size + _FAR * largest_magnitude(sides)
    moved = np.abs(np.stack((y0, x0 + width, y0 + height, x0))) * EPSILON * np.nan_to_num(np.ptp(sides, axis=1))
    allowed, strength = (length * (ulps * precision * felt + missed) + moved).sum(axis=0), largest_magnitude(integral)
    return Rectangles(x0, y0, width, height, bottom + right - top - left, allowed, strength, precision)


def _carried_precision(values: Array) -> float:
    """Half a unit in the last place of what some values, at numbers that are not round, carry."""
    values = values.ravel()
    return math.ldexp(1.0, -mantissa_bits(values)) if looks_rounded(values) else EPSILON


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
    base = _cumulated(sides[row], x.size // 2)
    heights = np.array([_cumulated(each, row) for each in rises.T]).T + base
    flat = heights.ravel()
    known = np.isfinite(flat) & np.isfinite(like)
    return flat + (like[known].mean() - flat[known].mean() if known.any() else 0.0)


def _cumulated(steps: Array, start: int) -> Array:
    """The sums of steps from the place ``start``, where it is 0, in both directions."""
    return np.concatenate((-np.cumsum(steps[:start][::-1])[::-1], [0.0], np.cumsum(steps[start:])))
