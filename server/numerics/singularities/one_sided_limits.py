"""One-sided limits of forward: whether its values and slopes converge, or diverge, as a place is approached."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Array, Mask

# The distances from the place: each a quarter of the one before, over twelve decades.
_RATIO, _SCALES = 4.0, 21
APPROACH_DISTANCES = _RATIO ** -np.arange(_SCALES)[:, None]
# What holds over this many of the finest steps, a factor of 256, is taken to hold in the limit.
_STEPS = 4
# At a pole no step is smaller than the one before: a logarithm's are equal, those of a negative power grow.
_STAYS = 0.95
# At a cusp the slope grows by at least this factor with every step; x log x is the slowest case.
_CLIMBS = 1.03
# A step counts above this many units of rounding.
_HEARD = 64.0


@dataclass(frozen=True)
class OneSidedLimit:
    """The ``values`` of forward at ``points`` that approach a place from one side (scales × places).

    ``fine`` marks the points that are farther from the place than the uncertainty of its position; ``rounding`` bounds
    the rounding of the values.
    """

    points: Array
    values: Array
    fine: Mask
    rounding: Array

    @cached_property
    def there(self) -> Mask:
        """Whether forward is finite on this side."""
        return np.isfinite(self.values[0]) & self.fine[2]

    @cached_property
    def limit(self) -> Array:
        """The value nearest to the place."""
        last = self.fine.sum(axis=0) - 1
        return self.values[last, np.arange(last.size)]

    @cached_property
    def steps(self) -> Array:
        """The change of the value from each point to the next."""
        steps = np.diff(self.values, axis=0)
        return np.where(np.isinf(self.values[1:]), self.values[1:], steps)

    @cached_property
    def slopes(self) -> Array:
        """The slope from each point to the next."""
        return self.steps / np.diff(self.points, axis=0)

    @cached_property
    def _heard(self) -> Mask:
        return (np.abs(self.steps) > _HEARD * self.rounding) & self.fine[1:]

    @cached_property
    def diverges(self) -> Mask:
        """Whether the value diverges: no step is smaller than the one before, all in one direction."""
        last = _last(self.fine[1:])
        steps = self._finest(self.steps, last)
        size = np.abs(steps)
        onward = (size[1:] >= _STAYS * size[:-1]) & (np.sign(steps[1:]) == np.sign(steps[:-1]))
        return onward.all(axis=0) & self._finest(self._heard, last).all(axis=0) & self.there & (last >= _STEPS)

    @cached_property
    def vertical(self) -> Mask:
        """Whether the slope diverges while the value converges monotonically."""
        last = _last(self._heard)
        slopes, steps = np.abs(self._finest(self.slopes, last)), self._finest(self.steps, last)
        size = np.abs(steps)
        climbs = (slopes[1:] >= _CLIMBS * slopes[:-1]).all(axis=0) & np.isfinite(slopes).all(axis=0)
        settles = (size[1:] < size[:-1]).all(axis=0) & (np.sign(steps) == np.sign(steps[-1])).all(axis=0)
        return climbs & settles & self.there & (last >= _STEPS) & ~self.diverges

    @cached_property
    def moving(self) -> Array:
        """The largest of the finest steps."""
        return np.abs(self._finest(self.steps, _last(self.fine[1:]))).max(axis=0)

    def _finest(self, values: NDArray[Any], last: NDArray[np.intp]) -> NDArray[Any]:
        rows = np.maximum(last[None, :] - np.arange(_STEPS, -1, -1)[:, None], 0)
        return values[rows, np.arange(last.size)]


def _last(kept: Mask) -> NDArray[np.intp]:
    """The last row before the first that is not kept."""
    return np.where(kept.all(axis=0), kept.shape[0], np.argmin(kept, axis=0)) - 1
