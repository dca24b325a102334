"""Whether a difference is there at the smallest scale on which forward is straight: the last word before an accusation.

Differences with wide steps may miss a wave, and those with narrow ones see the steps of a forward that rounds inside.
What decides is the least step on which rounding can still tell the two slopes apart, and from there upwards the first
scale on which forward is straight on either side. Steps of forward as small as the rounding of float32 decide nothing
where forward follows what was returned over a longer way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import EPSILON, Array, Forward, Mask

# budget: steps on either side of each point, from the least that can tell to the widest; sample: their least ratio.
_SCALES, _LEAST_RATIO = 26, 2.0
_MIN_SCALES = 4  # pattern: with fewer the dispute is hidden by rounding
_BLUR_ULPS, _BLUR_POINTS = 8.0, 25  # ulps: a short dtype knows x to so many; budget: looked at in so many points
_ULPS = 4.0  # ulps: forward's rounding, of its value and of what it makes of a rounded x
_CLEAR = 16.0  # bound: at the least step, the two slopes are this many times as far apart as rounding explains
_ALIKE = 0.25  # bound: slopes are alike that differ by at most this share of what is contested
_APART = 2.0  # bound: what contradicts both by more than so many times that supports neither
_AGREEING = 3  # pattern: so many scales, the widest on which it is straight, must agree about what may be rounding
# bound: steps of forward up to this share of its size may be the rounding of float32, and no shape of its own.
_ROUNDED_INSIDE = 2.0**-22


@dataclass(frozen=True)
class Dispute:
    """At each ``x`` backward ``returned`` a slope that is off by ``distance`` (> 0) from what was measured."""

    x: Array
    returned: Array
    distance: Array


@dataclass(frozen=True)
class Closeness:
    """How closely ``forward`` is looked at: from its rounding up to the ``widest`` step.

    ``precision`` is half a unit in the last place of what forward computes in, ``eps`` that of the dtype in which
    backward knows x; ``height`` and ``reach`` are the largest values of forward and of x in sight.
    """

    forward: Forward
    widest: float
    precision: float
    eps: float
    height: float
    reach: float
    snap: Forward | None = None
    """Rounds points to those that forward can tell apart, if it is not in double precision."""


@np.errstate(all="ignore")
def confirmed(closeness: Closeness, dispute: Dispute) -> tuple[Mask, Mask]:
    """Whether forward contradicts what was returned, seen as closely as that; and whether rounding hides the dispute.

    Where it is hidden there are too few scales to say anything.
    """
    if not dispute.x.size:
        return np.zeros(0, bool), np.zeros(0, bool)
    seen = _seen(closeness, dispute)
    against = _supports_measured(closeness, dispute, seen)
    if closeness.eps > 2 * EPSILON:
        against &= ~_explained_by_blur(closeness, dispute)
    return against, ~np.isfinite(seen.runs[0, _MIN_SCALES - 1])


@dataclass(frozen=True)
class _Seen:
    """What forward ``rises`` by over ``runs`` to either side (2 × scales × n), and its slopes at pairs of scales.

    ``slopes`` (2 × pairs × n) are those that two scales agree about, NaN where they do not.
    """

    rises: Array
    runs: Array
    slopes: Array


def _seen(closeness: Closeness, dispute: Dispute) -> _Seen:
    x, forward = dispute.x, closeness.forward
    y = forward(x)
    rounding = np.abs(y) + np.abs(x) * (np.abs(dispute.returned) + dispute.distance)
    rounding = _ULPS * closeness.precision * rounding + np.finfo(np.float64).tiny
    least = np.maximum(_CLEAR * rounding / dispute.distance, _ULPS * np.spacing(np.abs(x)))
    ratio = np.maximum((closeness.widest / least) ** (1 / (_SCALES - 1)), _LEAST_RATIO)
    steps = least * ratio ** np.arange(_SCALES)[:, None]
    steps[steps > 1.001 * closeness.widest] = np.nan
    points = np.stack((x + steps, x - steps))
    points = closeness.snap(points.ravel()).reshape(points.shape) if closeness.snap else points
    rises, known = np.full(points.shape, np.nan), np.isfinite(points)
    if known.any():
        rises[known] = forward(points[known])
    rises -= y
    runs = points - x
    plain = rises / runs
    slopes = (ratio * plain[:, :-1] - plain[:, 1:]) / (ratio - 1)  # of two scales, so that curvature cancels
    straight = (np.abs(slopes[:, 1:] - slopes[:, :-1]) <= _ALIKE * dispute.distance).all(axis=0)
    return _Seen(rises, runs, np.where(straight, slopes[:, :-1], np.nan))


def _supports_measured(closeness: Closeness, dispute: Dispute, seen: _Seen) -> Mask:
    """Whether the scale that decides supports what was measured, and not what was returned."""
    low, high, n = seen.slopes.min(axis=0), seen.slopes.max(axis=0), np.arange(dispute.x.size)
    beyond = np.maximum(low - dispute.returned, dispute.returned - high) / dispute.distance
    contradicts = (beyond > 0.5) & (beyond <= _APART)
    rounding = _ROUNDED_INSIDE * (closeness.height + closeness.reach * (np.abs(dispute.returned) + dispute.distance))
    # What may be rounding: on either side, and on all smaller scales too.
    rounded = np.abs(seen.rises - dispute.returned * seen.runs) <= rounding
    sides: Mask = np.logical_and.accumulate(rounded, axis=1)
    follows = np.abs(seen.rises / seen.runs - dispute.returned) <= _ALIKE * dispute.distance
    small: Mask = np.logical_and.reduce(sides)[: low.shape[0]]
    within = (follows[:, 1:] & follows[:, :-1] & sides[:, 1:]).any(axis=(0, 1))
    within = within | ((beyond <= _ALIKE) & small).any(axis=0)
    known = np.isfinite(low)
    first: NDArray[np.intp] = (known & ~small).argmax(axis=0)
    above = contradicts[first, n] & ~(known & small & ~contradicts).any(axis=0) & ~small[first, n]
    widest = known & small & (np.cumsum((known & small)[::-1], axis=0)[::-1] <= _AGREEING)
    persistent = (contradicts | ~widest).all(axis=0) & (widest.sum(axis=0) == _AGREEING)
    return ~within & (persistent | above)


def _explained_by_blur(closeness: Closeness, dispute: Dispute) -> Mask:
    """Whether what was returned is a slope of forward at an x that the dtype hardly tells from this one."""
    blurs = _BLUR_ULPS * closeness.eps * (2 * (np.arange(_BLUR_POINTS) / 1.618 % 1) - 1)  # in no step with a wave
    x = dispute.x + blurs[:, None] * np.abs(dispute.x)
    others = Dispute(x.ravel(), *(np.tile(each, blurs.size) for each in (dispute.returned, dispute.distance)))
    slopes = _seen(closeness, others).slopes
    first = np.isfinite(slopes).all(axis=0).argmax(axis=0)
    low, high = (each[first, np.arange(x.size)].reshape(x.shape) for each in (slopes.min(axis=0), slopes.max(axis=0)))
    alike = _ALIKE * dispute.distance
    above = np.fmin.reduce(low) - alike <= dispute.returned
    return above & (dispute.returned <= np.fmax.reduce(high) + alike)
