"""The true gradient of a descent, from finite differences of forward, one-sided at kinks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...runtime.arrays import EPSILON, Array
from ...runtime.batching import GOLDEN_RATIO, batched_rows
from ...runtime.failure import FunctionFailed
from ...runtime.reference import reference_rows
from ...runtime.rng import seed_all_generators
from ...runtime.section import Section
from ..differentiation.arithmetic import precision_of
from ..differentiation.finite_differences import PointKind, Slopes
from ..differentiation.map_slopes import BasePoint, jacobian_slopes
from ..tolerance import FEW_ULPS, NEGLIGIBLE

_NONSMOOTH = (PointKind.KINK, PointKind.JUMP)


def downhill_gradient(slopes: Slopes, residual: Array) -> tuple[Array, bool]:
    """The gradient of the loss along each element of what moves, and whether forward is bent or torn there.

    ``residual`` is the derivative of the loss with respect to each element of the output. Along an element where
    forward has a kink the loss has two slopes: taken is that of the side to which it falls, of the steeper side if it
    falls to both, and 0 if it rises to both, which is the subgradient of least norm. On the side of a jump, and where
    forward is upright, there is none. NaN where forward has no finite value or no slope.
    """
    columns = slopes.value, slopes.error, slopes.left, slopes.right
    value, error, left, right = (each.reshape(residual.size, -1).T for each in columns)
    kind = slopes.kind.reshape(residual.size, -1).T
    # A slope that is mostly doubt says nothing.
    value = np.where((kind == PointKind.UNRESOLVED) & ~(error < np.abs(value)), 0.0, value)
    nonsmooth = np.isin(kind, _NONSMOOTH)
    gradient = _loss_slopes(value, residual)
    rows = nonsmooth.any(axis=1)
    if rows.any():
        sides = [np.where(nonsmooth, side, value)[rows] for side in (left, right)]
        behind, ahead = (_loss_slopes(np.where(np.isfinite(side), side, np.nan), residual) for side in sides)
        falls_behind, falls_ahead = np.where(behind > 0, behind, 0.0), np.where(ahead < 0, ahead, 0.0)
        gradient[rows] = np.where(falls_behind > -falls_ahead, falls_behind, falls_ahead)
    return gradient, bool(rows.any())


def _loss_slopes(slope: Array, residual: Array) -> Array:
    """The slopes of the loss; an element of the output that is on goal does not matter, however steep it is."""
    return np.where(residual == 0, 0.0, slope * residual).sum(axis=1)


_PROBES = 33  # budget: the points along the range, no round numbers, that tell how finely forward rounds
_CLOSER = (2.0**-9, 2.0**-18, 2.0**-27)  # sample: apparent kinks are measured again, with steps so many times as wide


@dataclass(frozen=True)
class TrueForward:
    """Forward in double precision wherever the Function allows that, as a map of all that moves.

    ``span`` is the range that can be seen, ``precision`` half a unit in the last place of what it computes in. Random
    numbers are those of a ``step``; where there are any, each point has a call of its own: copies that are stacked
    would draw random numbers of their own.
    """

    copies: Section
    span: float
    precision: float
    random: bool = False
    step: int = 0

    @classmethod
    def of(cls, section: Section, start: float, stop: float) -> TrueForward:
        """The double-precision forward of a section, its precision estimated between ``start`` and ``stop``."""
        copies = reference_rows(batched_rows(section, stop - start), stop - start)
        x = section.snap(start + (stop - start) * np.sort(np.arange(_PROBES) * GOLDEN_RATIO % 1))
        try:
            precision = precision_of(copies, copies.forward, x, copies.forward(x))
        except FunctionFailed:
            precision = EPSILON
        return cls(copies, stop - start, precision)

    def outputs(self, points: Array) -> Array:
        """The output, flat, at every row of ``points``: NaN where the Function refuses it."""
        found = []
        for some in np.split(points, len(points)) if self.random else [points]:
            seed_all_generators(self.step)
            found.append(self.copies.willing(some))
        return np.concatenate(found)

    def output(self, position: Array) -> Array:
        """The output, flat, at one position. Raises ``FunctionFailed``."""
        seed_all_generators(0)
        return self.copies.forward(position[None])[0]

    def slopes(self, position: Array, y: Array) -> Slopes:
        """The slope of every element of the output, flat, along every element of ``position``, where it is ``y``.

        The arrays are flat: all elements of what moves for the first of the output, then for the next.
        """
        noise = FEW_ULPS / 2 * self.precision * np.abs(y)
        ground = BasePoint(self.outputs, position, self.span, y, noise, self.precision, reach=np.abs(position))
        cells = np.arange(y.size), np.arange(position.size)
        slopes, smooth = jacobian_slopes(ground, *cells), PointKind.SMOOTH
        for share in _CLOSER if self.precision == EPSILON else ():
            if (slopes.kind == smooth).all():
                break
            near = replace(ground, span=share * self.span, reach=share * np.abs(position))
            closer = jacobian_slopes(near, *cells)
            seen = (closer.kind == smooth) & (closer.error <= NEGLIGIBLE * np.abs(closer.value))
            beside = (slopes.kind != smooth) & (seen | ((closer.value == 0) & (closer.error == 0)))
            slopes = slopes.with_rows(beside, closer.at(beside))  # the kink lay beside, between the steps
        return slopes
