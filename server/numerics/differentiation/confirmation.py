"""Whether a difference is there at the smallest scale on which forward is straight: the last word before an accusation.

Differences with wide steps may miss a wave, and those with narrow ones see the steps of a forward that rounds inside.
What decides is the least step on which rounding can still tell the two slopes apart, and from there upwards the first
scale on which forward is straight on either side. Steps of forward as small as the rounding of float32 decide nothing
where forward follows what was returned over a longer way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import EPSILON, Array, Forward, Mask, at_rows
from ..tolerance import CLEARLY, FEW_ULPS, NEGLIGIBLE, SIMILAR

# budget: steps on either side of each point, from the least that can tell to the widest; sample: their ratio.
_SCALES, _LEAST_RATIO, _MOST_RATIO = 26, 2.0, 10.0
_PAIR = 3  # a plain fact: scales of which the first two have a slope that the next two agree about
_MIN_SCALES = 4  # pattern: with fewer the dispute is hidden by rounding
_BLUR_POINTS = 25  # budget: the numbers looked at that a short dtype hardly tells from x
_ULPS = 4.0  # ulps: forward's rounding, of its value and of what it makes of a rounded x
CLEAR = 16.0  # bound: at the least step, the two slopes are this many times as far apart as rounding explains
_APART = 2.0  # bound: what contradicts both by more than so many times that supports neither
# ulps: a piece this narrow, as a share of the numbers in sight, may be a step of float32; and is one if beyond it the
# slope changes by clearly more than that of a curve would that has changed by so much before.
FLOAT32_STEP = 2.0**-21
_THREE_SCALES = 2.5  # ulps: so many times the rounding of a value is in a slope without curvature, times its step
_AGREEING = 3  # pattern: so many scales on which it is straight, and all of those, agree about what may be rounding
# bound: steps of forward up to this share of its size may be the rounding of float32, and no shape of its own.
_ROUNDED_INSIDE = 2.0**-22


@dataclass(frozen=True)
class Dispute:
    """At each ``x`` backward ``returned`` a slope that is off by ``distance`` (> 0) from what was measured."""

    x: Array
    returned: Array
    distance: Array

    at = at_rows


@dataclass(frozen=True)
class Closeness:
    """How closely ``forward`` is looked at: from its rounding up to the ``widest`` step.

    ``precision`` is half a unit in the last place of what forward computes in, ``eps`` that of the dtype in which
    backward knows x; ``height`` and ``reach`` are the largest values of forward and of x in sight. What is one number
    for each x of a dispute is an array.
    """

    forward: Forward
    widest: float | Array
    precision: float
    eps: float
    height: float | Array
    reach: float | Array
    snap: Forward | None = None
    """Rounds points to those that forward can tell apart, if it is not in double precision."""
    moved: Forward | None = None
    """How far a short dtype moves x, as it rounds what forward computes on its way."""

    at = at_rows


@dataclass(frozen=True)
class Answer:
    """Whether forward ``contradicts`` what was returned, ``follows`` it, or the dispute is ``hidden`` by rounding.

    None of it is so where forward is straight on no scale. ``plainly``: it is from the smallest on, which
    contradicts, until it bends. ``vaguely``: it contradicts where it may stand on one step of float32 alone. ``least``
    is the least step on which rounding can still tell the two slopes apart, ``widest`` that on which it contradicts.
    """

    contradicts: Mask
    follows: Mask
    hidden: Mask
    plainly: Mask
    vaguely: Mask
    least: Array
    widest: Array

    at = at_rows


@np.errstate(all="ignore")
def confirmed(closeness: Closeness, dispute: Dispute) -> Answer:
    """What forward says to a dispute, seen as closely as that."""
    if not dispute.x.size:
        none = np.zeros(0, bool)
        return Answer(none, none, none, none, none, np.zeros(0), np.zeros(0))
    seen = _seen(closeness, dispute)
    against, follows, plainly, vaguely, widest = _supported(closeness, dispute, seen)
    if closeness.eps > 2 * EPSILON and against.any():
        rows = np.flatnonzero(against)
        against[rows] = ~_explained_by_blur(closeness.at(rows), dispute.at(rows))
    hidden = ~np.isfinite(seen.runs[0, _MIN_SCALES - 1])
    return Answer(against, follows, hidden, plainly, vaguely, seen.least, widest)


@np.errstate(all="ignore")
def slopes_seen_closely(closeness: Closeness, x: Array, returned: Array) -> Array:
    """The slope of forward where it is one down to its rounding, to a thousandth of what was ``returned``; else NaN."""
    slope = np.full(x.size, np.nan)
    asked = np.flatnonzero(returned)
    if not asked.size:
        return slope
    distance = NEGLIGIBLE * np.abs(returned[asked])
    slopes = _seen(closeness, Dispute(x[asked], returned[asked], distance), _PAIR + _AGREEING - 1).slopes
    one = np.ptp(slopes, axis=0) <= SIMILAR * distance
    first = one.argmax(axis=0)
    slope[asked] = np.where(one.any(axis=0), slopes[:, first, np.arange(asked.size)].mean(axis=0), np.nan)
    return slope


@dataclass(frozen=True)
class _Seen:
    """What forward ``rises`` by over ``runs`` to either side (2 × scales × n), and its slopes at pairs of scales.

    The scales go from the ``least`` upwards.
    ``slopes`` (2 × pairs × n) are those that two scales agree about, NaN where they do not; ``changes`` (pairs × n) is
    how much they change from one pair of scales to the next.
    """

    rises: Array
    runs: Array
    slopes: Array
    changes: Array
    least: Array


def _seen(closeness: Closeness, dispute: Dispute, scales: int = _SCALES) -> _Seen:
    x, forward = dispute.x, closeness.forward
    y = forward(x)
    unit = _ULPS * closeness.precision  # of the largest numbers no sum is made that overflows
    rounding = unit * np.abs(y) + unit * np.abs(x) * (np.abs(dispute.returned) + dispute.distance)
    rounding += np.finfo(np.float64).tiny
    least = np.maximum(CLEAR * rounding / dispute.distance, _ULPS * np.spacing(np.abs(x)))
    ratio = np.clip((closeness.widest / least) ** (1 / (_SCALES - 1)), _LEAST_RATIO, _MOST_RATIO)
    steps = least * ratio ** np.arange(scales)[:, None]
    steps[steps > 1.001 * closeness.widest] = np.nan
    points = np.stack((x + steps, x - steps))
    points = closeness.snap(points) if closeness.snap else points
    rises, known = np.full(points.shape, np.nan), np.isfinite(points)
    if known.any():
        rises[known] = forward(points[known])
    rises -= y
    runs = points - x
    plain = rises / runs
    slopes = (ratio * plain[:, :-1] - plain[:, 1:]) / (ratio - 1)  # of two scales, so that curvature cancels
    changes = np.abs(slopes[:, 1:] - slopes[:, :-1]).max(axis=0)
    return _Seen(rises, runs, np.where(changes <= SIMILAR * dispute.distance, slopes[:, :-1], np.nan), changes, least)


def _supported(closeness: Closeness, dispute: Dispute, seen: _Seen) -> tuple[Mask, Mask, Mask, Mask, Array]:
    """Whether the scale that decides supports what was measured, or what was returned; the smallest the former;
    whether all that do may be steps of float32; and the widest step on which what was returned is contradicted.
    """
    low, high, n = seen.slopes.min(axis=0), seen.slopes.max(axis=0), np.arange(dispute.x.size)
    beyond = np.maximum(low - dispute.returned, dispute.returned - high) / dispute.distance
    contradicts = (beyond > 0.5) & (beyond <= _APART)
    rounding = _ROUNDED_INSIDE * closeness.height
    rounding = rounding + _ROUNDED_INSIDE * closeness.reach * (np.abs(dispute.returned) + dispute.distance)
    # What may be rounding: on either side, and on all smaller scales too.
    rounded = np.abs(seen.rises - dispute.returned * seen.runs) <= rounding
    sides: Mask = np.logical_and.accumulate(rounded, axis=1)
    follows = np.abs(seen.rises / seen.runs - dispute.returned) <= SIMILAR * dispute.distance
    small: Mask = np.logical_and.reduce(sides)[: low.shape[0]]
    # Nor is it more where what is disputed, without the curve, adds up to no more than the rounding in such a slope.
    small |= np.maximum(beyond, 0.0) * dispute.distance * seen.runs[0, : low.shape[0]] <= _THREE_SCALES * rounding
    within = (follows[:, 1:] & follows[:, :-1] & sides[:, 1:]).any(axis=(0, 1))
    within = within | ((beyond <= SIMILAR) & small).any(axis=0)
    # A piece without any slope that ends in steps as small as that is one of them.
    moves = (seen.rises != 0).any(axis=0) & sides.all(axis=0)
    flat = (np.logical_or.accumulate(moves[::-1], axis=0)[::-1] & ~moves)[: low.shape[0]]
    contradicts &= ~flat
    known = np.isfinite(low)
    first: NDArray[np.intp] = (known & ~small).argmax(axis=0)
    above = contradicts[first, n] & ~small[first, n]
    vague = known & small
    # Over a step beyond one on which it bends by more than rounding a slope is a mean, of a wave or across a jump.
    bends = ~(seen.changes * seen.runs[0, : low.shape[0]] <= 2 * _THREE_SCALES * rounding) & ~known & ~small
    above &= ~(bends & (np.arange(low.shape[0])[:, None] < first)).any(axis=0)
    vague &= ~flat & ~(beyond > _APART)  # a step, too, has neither slope
    persistent = (contradicts | ~vague).all(axis=0) & (vague.sum(axis=0) >= _AGREEING)
    # It is straight from the smallest scale on, which contradicts, and once it bends it is straight no more.
    plainly = contradicts[known.argmax(axis=0), n] & known[:2].any(axis=0)
    plainly &= np.count_nonzero(known[1:] & ~known[:-1], axis=0) + known[0] == 1
    widest = np.where(contradicts, seen.runs[0, : low.shape[0]], 0.0).max(axis=0)
    contradicts = ~within & (persistent & _is_no_step(closeness, seen, vague) | above)
    return contradicts, within, plainly, ~above, widest


def _is_no_step(closeness: Closeness, seen: _Seen, vague: Mask) -> Mask:
    """Whether straight scales that may be rounding are wider than a step of float32, or end as a curve bends."""
    wide = (vague & (seen.runs[0, : len(vague)] >= FLOAT32_STEP * closeness.reach)).any(axis=0)
    last = len(vague) - 1 - vague[::-1].argmax(axis=0)
    n, after = np.arange(last.size), np.minimum(last + 1, len(vague) - 1)
    ratio = seen.runs[0, 1] / seen.runs[0, 0]
    gradual = seen.changes[after, n] <= CLEARLY * ratio**2 * seen.changes[last, n]
    return wide | gradual | np.isfinite(seen.slopes[0, after, n]) | np.isnan(seen.changes[after, n])


def _explained_by_blur(closeness: Closeness, dispute: Dispute) -> Mask:
    """Whether what was returned is a slope of forward at an x that the dtype hardly tells from this one."""
    blurs = FEW_ULPS * closeness.eps * (2 * (np.arange(_BLUR_POINTS) / 1.618 % 1) - 1)  # in no step with a wave
    # What is added to x, of the size of numbers in sight, is rounded once.
    moved = np.maximum(closeness.moved(dispute.x) if closeness.moved else 0.0, closeness.eps * closeness.reach)
    x = dispute.x + blurs[:, None] * np.maximum(np.abs(dispute.x), moved / (FEW_ULPS * closeness.eps))
    place = np.tile(np.arange(dispute.x.size), blurs.size)
    slopes = _first_slopes(closeness.at(place), replace(dispute.at(place), x=x.ravel()))
    low, high = slopes.min(axis=0).reshape(x.shape), slopes.max(axis=0).reshape(x.shape)
    least, most = np.fmin.reduce(low), np.fmax.reduce(high)
    alike = SIMILAR * dispute.distance + (most - least) / 2
    return (least - alike <= dispute.returned) & (dispute.returned <= most + alike)


def _first_slopes(closeness: Closeness, dispute: Dispute) -> Array:
    """The slopes to either side (2 × n) at the least scales that agree; wider ones are asked where these do not."""
    slopes = _seen(closeness, dispute, _PAIR).slopes[:, 0]
    rest = np.flatnonzero(~np.isfinite(slopes).all(axis=0))
    if rest.size:
        wider = _seen(closeness.at(rest), dispute.at(rest)).slopes
        first = np.isfinite(wider).all(axis=0).argmax(axis=0)
        slopes[:, rest] = wider[:, first, np.arange(rest.size)]
    return slopes
