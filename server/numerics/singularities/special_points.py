"""Special points of a forward (kinks, cusps, jumps, poles): classified by the one-sided limits of values and slopes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import EPSILON, Array, Forward, Mask, consecutive_differences, finite_rise
from ..formatting.numbers import simplest_number
from ..tolerance import ALIKE_SHARE, CLEARLY, FEW_ULPS, MANY_ULPS, NEGLIGIBLE, SIMILAR
from .candidates import SingularityCandidates, SingularitySearch

_RATIO, _SCALES = 4.0, 21  # sample: the distances from the place: each a quarter of the one before, over twelve decades
APPROACH_DISTANCES = _RATIO ** -np.arange(_SCALES)[:, None]
_FINEST = 4  # pattern: what holds over this many of the finest steps, a factor of 256, is taken to hold in the limit
# pattern: at a pole no step is smaller than the one before: a logarithm's are equal, those of a negative power grow.
_POLE_RATIO = 0.95
# pattern: at a cusp the slope grows by at least this factor with every step; x log x is the slowest case.
_CUSP_RATIO = 1.03
SingularityKind = Literal["kink", "cusp", "jump", "pole"]
_ROUNDINGS = 512.0  # ulps: the height of a jump, in roundings of the values towards it
# pattern: at a kink the one-sided slopes are alike over three fourfold reductions of the distance; and at smaller
# distances the angle is at least this fraction of it.
_PLATEAU, _MIN_ANGLE = 3, 0.6
_MIN_ULPS = 32  # ulps: the least such distance, in units in the last place of x
_CROWD = 6  # pattern: with more suspects than this within a cell on either side, small jumps are taken for rounding


@dataclass(frozen=True)
class Approaches:
    """The ``values`` of forward at ``points`` that approach places from below and then from above (scales × 2 places).

    ``fine`` marks the points that are farther from the place than the uncertainty of its position; ``rounding`` bounds
    the rounding of the values."""

    points: Array
    values: Array
    fine: Mask
    rounding: Array

    @staticmethod
    def sides(each: NDArray[Any]) -> NDArray[Any]:
        """What is told of all approaches as (… × 2 × places), those from below first."""
        return each.reshape(*each.shape[:-1], 2, -1)

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
        steps = consecutive_differences(self.values)
        return np.where(np.isinf(self.values[1:]), self.values[1:], steps)

    @cached_property
    def slopes(self) -> Array:
        """The slope from each point to the next."""
        return self.steps / consecutive_differences(self.points)

    @cached_property
    def _significant(self) -> Mask:
        return (np.abs(self.steps) > MANY_ULPS * self.rounding) & self.fine[1:]

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
    """The last row of the first run of True, column by column."""
    return np.where(mask.all(axis=0), mask.shape[0], np.argmin(mask, axis=0)) - 1


def classify_singularities(
    here: Array, around: Approaches, rise: float, visible: float, crowded: Mask
) -> tuple[list[SingularityKind | None], NDArray[np.intp]]:
    """The kind of each place, None where forward is smooth, and the finest scale at which a kink shows its angle.

    ``here`` are the values at the places. ``rise`` and ``visible`` slope of the picture set the scale below which
    nothing is visible; where special points are ``crowded``, small jumps are taken for rounding.
    """
    pole, cusp = (np.logical_or(*around.sides(each)) for each in (around.diverges, around.vertical))
    jump = _is_jump(here, around, np.where(crowded, NEGLIGIBLE, ALIKE_SHARE) * rise)
    kink, scale = _is_kink(around, visible)
    kinds: tuple[tuple[SingularityKind, Mask], ...] = (("pole", pole), ("jump", jump), ("cusp", cusp), ("kink", kink))
    return [next((kind for kind, holds in kinds if holds[i]), None) for i in range(here.size)], scale


def _is_jump(here: Array, around: Approaches, invisible: Array) -> Mask:
    """Whether the one-sided limits differ from each other, or both from the value in between."""
    limits = around.sides(around.limit)
    floor = _ROUNDINGS * around.sides(around.rounding).max(axis=0) + invisible
    moving = CLEARLY * around.sides(around.moving).max(axis=0)
    height, isolated = np.abs(limits[1] - limits[0]), np.abs(here - limits).min(axis=0)
    apart = (height > floor) & (height > moving)
    apart |= (isolated > floor) & (isolated > moving) & np.isfinite(here)
    both: Mask = apart & around.sides(around.there).all(axis=0)
    return both


def _is_kink(around: Approaches, visible: float) -> tuple[Mask, NDArray[np.intp]]:
    """Whether the one-sided slopes differ by an angle that stays as the distance shrinks, and down to which scale."""
    slopes, (below, above) = around.sides(around.slopes), around.sides(around.rounding)
    turn = np.abs(slopes[:, 1] - slopes[:, 0])
    noise = FEW_ULPS * (below + above) / np.abs(consecutive_differences(around.sides(around.points)[:, 1]))
    resolved, scales = around.sides(around.fine)[1:, 1], turn.shape[0]
    angles = np.where(resolved, turn + 4 * noise, np.inf)[::-1]
    smallest = np.minimum.accumulate(angles, axis=0)[::-1]
    constant = resolved & (turn > 4 * noise) & (turn > ALIKE_SHARE * visible) & (smallest >= _MIN_ANGLE * turn)
    for back in range(1, _PLATEAU + 1):
        change = np.abs(slopes[_PLATEAU:] - slopes[_PLATEAU - back : scales - back]).max(axis=1)
        constant[_PLATEAU:] &= change < SIMILAR * turn[_PLATEAU:]
    constant[:_PLATEAU] = False
    finest = scales - 1 - constant[::-1].argmax(axis=0)
    return constant.any(axis=0) & around.sides(around.there).all(axis=0), finest


def kink_position(x: float, width: float, around: Approaches, place: int, scale: int) -> tuple[float, float]:
    """The intersection of the two sides of the kink at ``x`` ± ``width``, and its error bound.

    Each side is extended linearly with its slope at ``scale``.
    """
    other = place + around.rounding.size // 2
    sides = [place, other]
    left, right = (float(each) for each in around.slopes[scale, sides])
    off = around.points[scale + 1, sides] - x
    at_left, at_right = (float(each) for each in around.values[scale + 1, sides] - (left, right) * off)
    shift = (at_right - at_left) / (left - right)
    doubt = 2 * FEW_ULPS * float(around.rounding[place] + around.rounding[other]) / abs(right - left)
    doubt += 2 * float(np.spacing(np.abs(around.points[0, other])))
    if not (abs(shift) <= width and doubt < width):
        return x, width
    return simplest_number(x + shift - doubt, x + shift + doubt), 2 * doubt


@dataclass(frozen=True)
class SpecialPoint:
    """A place where forward is not smooth, within ``[left, right]``; ``x`` is the simplest number in between.

    At a ``kink`` the one-sided slopes differ. At a ``cusp`` forward has a value, but a one-sided slope is unbounded,
    as that of √x at the edge of its domain. At a ``jump`` forward is discontinuous, at a ``pole`` unbounded.
    """

    kind: SingularityKind
    x: float
    left: float
    right: float


def special_points(
    forward: Forward,
    x: Array,
    y: Array,
    precision: float = EPSILON,
    known: tuple[SpecialPoint, ...] = (),
    cheap: bool = True,
    jumps_only: bool = False,
) -> tuple[SpecialPoint, ...]:
    """The special points of ``forward`` on the increasing grid ``x``, where it has the values ``y``.

    At most 256; a tenth of a cell between two is enough to resolve them. ``precision`` is half a unit in the last
    place of the precision that forward computes in. Places ``known`` are skipped. If many values in one call are
    ``cheap``, some thousand are used for each point, and 8192 where the grid is too coarse for forward; otherwise some
    two hundred each. With ``jumps_only`` other kinds may be left out.
    """
    with np.errstate(all="ignore"):
        cell = float((x[-1] - x[0]) / (x.size - 1))
        rise = finite_rise(y)
        search = SingularitySearch(forward, precision, cell, rise, rise / float(x[-1] - x[0]), cheap, jumps_only)
        places = np.array([each.x for each in known])
        candidates = search.search(x, y, places)
        return _classified(search, candidates, places) if candidates.low.size else ()


def _classified(search: SingularitySearch, candidates: SingularityCandidates, known: Array) -> tuple[SpecialPoint, ...]:
    """The special point in each interval; intervals that are merely steep are left out."""
    x = np.array([simplest_number(low, high) for low, high in zip(candidates.low, candidates.high, strict=True)])
    order = np.lexsort((candidates.high - candidates.low, x))
    x, candidates = x[order], candidates.at(order)
    width = candidates.high - candidates.low
    distinct = np.ones(x.size, bool)
    distinct[1:] = x[1:] - x[:-1] > np.maximum(width[1:], width[:-1]) + 4 * np.spacing(np.abs(x[1:]))
    if known.size:
        distinct &= np.abs(x[:, None] - known).min(axis=1) > ALIKE_SHARE * search.cell
    x, candidates, width = x[distinct], candidates.at(distinct), width[distinct]
    if not x.size:
        return ()
    here, around = _approached(search, x, width)
    crowded = np.searchsorted(x, x + search.cell) - np.searchsorted(x, x - search.cell) > _CROWD
    kinds, scale = classify_singularities(here, around, search.rise, search.visible, crowded)
    points = []
    for i, kind in enumerate(kinds):
        position, radius = float(x[i]), float(width[i])
        if kind == "kink":
            position, radius = kink_position(position, radius, around, i, int(scale[i]))
        elif kind == "cusp" and not np.isfinite(here[i]):
            ends = np.array([candidates.low[i], candidates.high[i]])
            position = float(ends[np.isfinite(search.forward(ends)).argmax()])
        if kind:
            points.append(SpecialPoint(kind, position, position - radius, position + radius))
    return tuple(points)


def _approached(search: SingularitySearch, x: Array, width: Array) -> tuple[Array, Approaches]:
    """The values at the places, and on either side of them."""
    spacing = consecutive_differences(np.concatenate(((-np.inf,), x, (np.inf,))))
    widest = np.minimum(search.cell, SIMILAR * np.minimum(spacing[:-1], spacing[1:]))
    distance = widest * APPROACH_DISTANCES
    points = np.concatenate((x - distance, x + distance), axis=1)
    values = search.values(np.concatenate((x, points), axis=None))
    here, values = values[: x.size], values[x.size :].reshape(points.shape)
    last_place = np.spacing(np.abs(x)) * (search.precision / EPSILON)
    fine = np.tile(distance > np.maximum(_MIN_ULPS * last_place, 2 * width), 2)
    drift = np.fmax(*Approaches.sides(np.abs(values[0] - values[1]))) / widest
    nearest = np.abs(values).min(axis=0, initial=np.inf, where=fine)
    return here, Approaches(points, values, fine, search.precision * (nearest + np.tile(drift * np.abs(x), 2)))
