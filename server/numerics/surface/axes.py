"""The grid of a plane: forward at its points, and finite differences along either axis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import EPSILON, Array, Forward, finite_rise, largest_magnitude
from ...runtime.failure import FunctionFailed
from ...runtime.plane import Plane
from ..differentiation.arithmetic import precision_of
from ..differentiation.finite_differences import Ladder, Slopes, remeasure, widest_step
from ..differentiation.noise import ROUNDING_STEP, noise_along, noise_probes

# The values of a forward at points of its plane: where along one axis, and which row of the grid each belongs to.
AxisForward = Callable[[Array, NDArray[np.intp]], Array]
# budget: the lines along each axis on which noise is probed, and those where each point needs a call of its own.
_NOISE_LINES, _NOISE_LINES_EXPENSIVE = 5, 2


@dataclass(frozen=True)
class PlaneGrid:
    """The points ``x`` × ``y`` of a plane with the ``values`` of its forward, flat, row by row of one y."""

    plane: Plane
    x: Array
    y: Array
    values: Array

    @cached_property
    def points(self) -> tuple[Array, Array]:
        """The two coordinates of every point."""
        s, t = np.meshgrid(self.x, self.y)
        return s.ravel(), t.ravel()

    @property
    def heights(self) -> tuple[float, float]:
        """The largest value for the length of each axis."""
        most = largest_magnitude(self.values)
        return most / float(self.x[-1] - self.x[0]), most / float(self.y[-1] - self.y[0])

    def axis(self, which: int) -> Array:
        """The numbers along one axis."""
        return (self.x, self.y)[which]

    def lines(self, which: int) -> NDArray[np.intp]:
        """The places of the points, one row for each line along an axis."""
        places = np.arange(self.values.size).reshape(self.y.size, self.x.size)
        return places if which == 0 else places.T

    def ask(self, which: int) -> AxisForward:
        """Forward as a function along an axis; NaN beyond the ends where the Function refuses such points."""
        s, t = self.points
        low, high = self.axis(which)[[0, -1]]

        def forward(moved: Array, rows: NDArray[np.intp]) -> Array:
            there = (moved, t[rows]) if which == 0 else (s[rows], moved)
            try:
                return self.plane.forward(*there)
            except FunctionFailed:
                within, values = (moved >= low) & (moved <= high), np.full(moved.size, np.nan)
                if within.any():
                    values[within] = self.plane.forward(there[0][within], there[1][within])
                return values

        return forward

    def forward_at(self, which: int, rows: NDArray[np.intp]) -> Forward:
        """Forward along an axis at some of the points, for numbers in their order, over and over."""
        ask = self.ask(which)
        return lambda points: ask(points, np.tile(rows, points.size // rows.size))

    def slopes(self, which: int, expected: Array | None, step: float | None = None) -> Slopes:
        """The slopes along an axis, measured again where they are not as ``expected``; raises ``FunctionFailed``."""
        at, values, ends = self.points[which], self.values, self.axis(which)
        noise, precision, span = self._noise(which), self.precision, float(ends[-1] - ends[0])
        visible, forward_at = finite_rise(values) / span, partial(self.forward_at, which)
        every, widest = forward_at(np.arange(at.size)), step or widest_step(span, precision)
        slopes = Ladder.around(every, at, widest, noise, precision, values).slopes(forward_at, lambda _: visible)
        rows = np.zeros(0, np.intp) if expected is None else slopes.doubted_by(expected)
        if not rows.size or not np.isfinite(values).any():
            return slopes
        return remeasure(forward_at(rows), at, values, slopes, rows, np.full(rows.size, visible))

    @cached_property
    def precision(self) -> float:
        """Half a unit in the last place of what forward computes in, which may show along one axis alone."""
        return max(
            precision_of(self.plane.along, self._along(which, row), self.axis(which), self.values[row])
            for which in (0, 1)
            for row in self.lines(which)[self._sample(which)]
        )

    def _noise(self, which: int) -> Array:
        """How noisy forward is at every point along an axis.

        Heard on some of the lines, and taken for the others from the louder neighbour among these. A line on which
        forward does not move at all may be rounded as coarsely as the others.
        """
        lines, x, sample = self.lines(which), self.axis(which), self._sample(which)
        rise, precision = finite_rise(self.values), self.precision
        probes = noise_probes(x, float(x[-1] - x[0]), precision)
        levels = np.array([noise_along(self._along(which, lines[line])(probes), x, rise, precision) for line in sample])
        levels[~levels.any(axis=1)] = min(levels.max(), ROUNDING_STEP * precision / EPSILON)
        after = np.minimum(np.searchsorted(sample, np.arange(len(lines))), sample.size - 1)
        noise = np.zeros(self.values.size)
        noise[lines] = np.maximum(levels[np.maximum(after - 1, 0)], levels[after])
        return noise

    def _sample(self, which: int) -> NDArray[np.intp]:
        """Some of the lines along an axis, none at an end."""
        lines = self.lines(which)
        count = min(_NOISE_LINES_EXPENSIVE if self.plane.expensive else _NOISE_LINES, len(lines))
        return np.unique(np.linspace(0, len(lines) - 1, count + 2).round().astype(np.intp)[1:-1])

    def _along(self, which: int, row: NDArray[np.intp]) -> Forward:
        """Forward along an axis, on the line with these places."""
        ask = self.ask(which)
        return lambda points: ask(points, np.full(points.size, row[0]))
