"""What a forward does on one side of a place: whether its values, coming nearer, settle, climb or run off."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Array, Mask

# The approach: distances that shrink fourfold, over twelve decades.
_RATIO, SCALES = 4.0, 21
SHRINKING = _RATIO ** -np.arange(SCALES)[:, None]
# What holds over so many of the finest steps, 256-fold, holds in the limit.
_STEPS = 4
# A logarithm moves by the same with every step, a power of negative exponent by more.
STAYS = 0.95
# The slope of x log x grows by this with every step while there are digits to see it.
CLIMBS = 1.03
# A step is heard above so many units of rounding.
_HEARD = 64.0


@dataclass(frozen=True)
class Side:
    """The ``values`` of a forward at ``points`` that approach a place from one side (scales × places).

    ``fine`` marks the points that are far enough from the place, for what is known of it; ``rounding`` bounds
    the rounding of the values.
    """

    points: Array
    values: Array
    fine: Mask
    rounding: Array

    @cached_property
    def there(self) -> Mask:
        """Whether the forward has values on this side."""
        return np.isfinite(self.values[0]) & self.fine[2]

    @cached_property
    def limit(self) -> Array:
        """The value nearest to the place."""
        last = self.fine.sum(axis=0) - 1
        return self.values[last, np.arange(last.size)]

    @cached_property
    def steps(self) -> Array:
        """How far the value moves from each point to the next one."""
        steps = np.diff(self.values, axis=0)
        return np.where(np.isinf(self.values[1:]), self.values[1:], steps)

    @cached_property
    def slopes(self) -> Array:
        """The slope from each point to the next one."""
        return self.steps / np.diff(self.points, axis=0)

    @cached_property
    def _heard(self) -> Mask:
        return (np.abs(self.steps) > _HEARD * self.rounding) & self.fine[1:]

    @cached_property
    def diverges(self) -> Mask:
        """Whether the value runs off to infinity: no step is smaller than the one before, all in one direction."""
        last = _last(self.fine[1:])
        steps = self._finest(self.steps, last)
        size = np.abs(steps)
        onward = (size[1:] >= STAYS * size[:-1]) & (np.sign(steps[1:]) == np.sign(steps[:-1]))
        return onward.all(axis=0) & self._finest(self._heard, last).all(axis=0) & self.there & (last >= _STEPS)

    @cached_property
    def vertical(self) -> Mask:
        """Whether the slope grows without bound while the value settles, all in one direction."""
        last = _last(self._heard)
        slopes, steps = np.abs(self._finest(self.slopes, last)), self._finest(self.steps, last)
        size = np.abs(steps)
        climbs = (slopes[1:] >= CLIMBS * slopes[:-1]).all(axis=0) & np.isfinite(slopes).all(axis=0)
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
    """How many of the rows are kept before the first that is not, less one."""
    return np.where(kept.all(axis=0), kept.shape[0], np.argmin(kept, axis=0)) - 1
