"""Classification of a singularity (kink, cusp, jump, pole) from the one-sided limits of forward and its slope."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Array, Mask
from ..formatting.numbers import simplest_number
from .candidates import UNSEEN_JUMP, UNSEEN_TURN

# The distances from the place: each a quarter of the one before, over twelve decades.
_RATIO, _SCALES = 4.0, 21
APPROACH_DISTANCES = _RATIO ** -np.arange(_SCALES)[:, None]
# What holds over this many of the finest steps, a factor of 256, is taken to hold in the limit.
_FINEST = 4
# At a pole no step is smaller than the one before: a logarithm's are equal, those of a negative power grow.
_POLE_RATIO = 0.95
# At a cusp the slope grows by at least this factor with every step; x log x is the slowest case.
_CUSP_RATIO = 1.03
# A step counts above this many units of rounding.
_MIN_STEP = 64.0
SingularityKind = Literal["kink", "cusp", "jump", "pole"]
# The height of a jump relative to the last steps of the values towards it, and to their rounding.
_JUMP_RATIO, _ROUNDINGS = 4.0, 512.0
_UNSEEN_CROWDED = 1e-3
# At a kink the one-sided slopes stay constant over three fourfold reductions of the distance, to this fraction of its
# angle; and at smaller distances the angle is at least this fraction of it.
_PLATEAU, _CONSTANT, _MIN_ANGLE = 3, 0.2, 0.6
# Rounding may be this many times the expected one.
_NOISE_FACTOR = 8.0


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
    def _significant(self) -> Mask:
        return (np.abs(self.steps) > _MIN_STEP * self.rounding) & self.fine[1:]

    @cached_property
    def diverges(self) -> Mask:
        """Whether the value diverges: no step is smaller than the one before, all in one direction."""
        last = _last_of_first_run(self.fine[1:])
        steps = self._finest(self.steps, last)
        size = np.abs(steps)
        growing = (size[1:] >= _POLE_RATIO * size[:-1]) & (np.sign(steps[1:]) == np.sign(steps[:-1]))
        return growing.all(axis=0) & self._finest(self._significant, last).all(axis=0) & self.there & (last >= _FINEST)

    @cached_property
    def vertical(self) -> Mask:
        """Whether the slope diverges while the value converges monotonically."""
        last = _last_of_first_run(self._significant)
        slopes, steps = np.abs(self._finest(self.slopes, last)), self._finest(self.steps, last)
        size = np.abs(steps)
        steepens = (slopes[1:] >= _CUSP_RATIO * slopes[:-1]).all(axis=0) & np.isfinite(slopes).all(axis=0)
        converges = (size[1:] < size[:-1]).all(axis=0) & (np.sign(steps) == np.sign(steps[-1])).all(axis=0)
        return steepens & converges & self.there & (last >= _FINEST) & ~self.diverges

    @cached_property
    def moving(self) -> Array:
        """The largest of the finest steps."""
        return np.abs(self._finest(self.steps, _last_of_first_run(self.fine[1:]))).max(axis=0)

    def _finest(self, values: NDArray[Any], last: NDArray[np.intp]) -> NDArray[Any]:
        rows = np.maximum(last[None, :] - np.arange(_FINEST, -1, -1)[:, None], 0)
        return values[rows, np.arange(last.size)]


def _last_of_first_run(mask: Mask) -> NDArray[np.intp]:
    """The last row before the first that is not kept."""
    return np.where(mask.all(axis=0), mask.shape[0], np.argmin(mask, axis=0)) - 1


def classify_singularities(
    here: Array, below: OneSidedLimit, above: OneSidedLimit, rise: float, visible: float, crowded: Mask
) -> tuple[list[SingularityKind | None], NDArray[np.intp]]:
    """The kind of each place, None where forward is smooth, and the finest scale at which a kink shows its angle.

    ``here`` are the values at the places. ``rise`` and ``visible`` slope of the picture set the scale below which
    nothing is visible; where special points are ``crowded``, small jumps are taken for rounding.
    """
    pole, cusp = below.diverges | above.diverges, below.vertical | above.vertical
    jump = _is_jump(here, below, above, np.where(crowded, _UNSEEN_CROWDED, UNSEEN_JUMP) * rise)
    kink, scale = _is_kink(below, above, visible)
    kinds: tuple[tuple[SingularityKind, Mask], ...] = (("pole", pole), ("jump", jump), ("cusp", cusp), ("kink", kink))
    return [next((kind for kind, holds in kinds if holds[i]), None) for i in range(here.size)], scale


def _is_jump(here: Array, below: OneSidedLimit, above: OneSidedLimit, invisible: Array) -> Mask:
    """Whether the one-sided limits differ from each other, or both from the value in between."""
    floor = _ROUNDINGS * np.maximum(below.rounding, above.rounding) + invisible
    moving = _JUMP_RATIO * np.maximum(below.moving, above.moving)
    height = np.abs(above.limit - below.limit)
    isolated = np.minimum(np.abs(here - below.limit), np.abs(here - above.limit))
    apart = (height > floor) & (height > moving)
    apart |= (isolated > floor) & (isolated > moving) & np.isfinite(here)
    return apart & below.there & above.there


def _is_kink(below: OneSidedLimit, above: OneSidedLimit, visible: float) -> tuple[Mask, NDArray[np.intp]]:
    """Whether the one-sided slopes differ by an angle that stays as the distance shrinks, and down to which scale."""
    turn = np.abs(above.slopes - below.slopes)
    noise = _NOISE_FACTOR * (below.rounding + above.rounding) / np.abs(np.diff(above.points, axis=0))
    resolved, scales = above.fine[1:], turn.shape[0]
    angles = np.where(resolved, turn + 4 * noise, np.inf)[::-1]
    smallest = np.minimum.accumulate(angles, axis=0)[::-1]
    constant = resolved & (turn > 4 * noise) & (turn > UNSEEN_TURN * visible) & (smallest >= _MIN_ANGLE * turn)
    for slopes in (below.slopes, above.slopes):
        for back in range(1, _PLATEAU + 1):
            change = np.abs(slopes[_PLATEAU:] - slopes[_PLATEAU - back : scales - back])
            constant[_PLATEAU:] &= change < _CONSTANT * turn[_PLATEAU:]
    constant[:_PLATEAU] = False
    finest = scales - 1 - constant[::-1].argmax(axis=0)
    return constant.any(axis=0) & below.there & above.there, finest


def kink_position(
    x: float, width: float, below: OneSidedLimit, above: OneSidedLimit, place: int, scale: int
) -> tuple[float, float]:
    """The intersection of the two sides of the kink at ``x`` ± ``width``, and its error bound.

    Each side is extended linearly with its slope at ``scale``.
    """
    left, at_left = _extension(below, x, place, scale)
    right, at_right = _extension(above, x, place, scale)
    shift = (at_right - at_left) / (left - right)
    doubt = 2 * _NOISE_FACTOR * float(below.rounding[place] + above.rounding[place]) / abs(right - left)
    doubt += 2 * float(np.spacing(np.abs(above.points[0, place])))
    if not (abs(shift) <= width and doubt < width):
        return x, width
    return simplest_number(x + shift - doubt, x + shift + doubt), 2 * doubt


def _extension(side: OneSidedLimit, x: float, place: int, scale: int) -> tuple[float, float]:
    """The slope of a side at a scale, and the value of its linear extension at ``x``."""
    slope = float(side.slopes[scale, place])
    return slope, float(side.values[scale + 1, place] - slope * (side.points[scale + 1, place] - x))
