"""Noise estimation: the rounding noise in forward's values, and the precision (mantissa bits) it computes in."""

from __future__ import annotations

import math
from functools import lru_cache
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import EPSILON, FLOAT32_BITS, Array, Forward, consecutive_differences, mantissa_bits
from ..tolerance import CLEARLY, MANY_ULPS, SIMILAR

PROBED_PLACES = 24  # budget: the most places that are probed
# sample: the distance of the fine and of the coarse probes, as fractions of the visible range; and the least of both,
# in ulps. In a short precision no whole number of them: at equal distances its staircases may look flat.
_FINE_DISTANCE, _COARSE_DISTANCE, _LEAST_DISTANCES = 2e-10, 1e-6, (256.0, 256.0)
_SHORT_DISTANCES, _SHORT_LEAST_DISTANCES = (1e-5, 1e-4), (13.7, 37.3)
FINE_PROBES, COARSE_PROBES = 3, 6  # budget: their number on each side: second and fifth differences are taken
_MIN_SEPARATION = 32.0  # sample: the next point is at least this many probe distances away
_TINY = 1e-300  # unit: stands for no noise, as 0 has no logarithm
_MAX_SHARE = 0.05  # bound: noise is at most this share of the rise of the curve
_SMOOTHING = 1  # bound: the noise of a place is the largest within this many probed places of it
_FEW_STEPS = 0.5  # pattern: values that change at fewer than this share of the steps are a staircase
# pattern: a step above this fraction of the rise, and this many times the next largest, is a jump between two probes.
_JUMP, _JUMP_RATIO = 1e-4, 100.0
ROUNDING_STEP = 1e-12  # bound: steps up to this size may be the rounding of a larger intermediate result
_IRRATIONAL_SHIFT = 1 / math.pi  # sample: the share of a cell by which points are moved
_MIN_VALUES = 4  # pattern: fewer values than this in other binades say nothing against rounding
# bound: the quantile of slopes that sets a scale: next to a pole the steepest percent is not representative.
STEEPNESS_QUANTILE = 0.99


def noise_probes(x: Array, span: float, precision: float = EPSILON) -> Array:
    """The probes around each of up to 24 places along ``x``: 6 so close that only noise differs, 12 less close ones.

    They are nearer to their place than any other point of ``x``, and far enough apart for what computes in this
    ``precision`` to tell them apart.
    """
    near = x[_indices(x.size)]
    distances = probe_distances(near, span, precision, _room(x))
    return np.concatenate(
        [(near[:, None] + gap[:, None] * sides).ravel() for gap, sides in zip(*distances, strict=True)]
    )


def _room(x: Array) -> Array:
    """How far apart the probes around each place may be, as there are other points of ``x``."""
    indices = _indices(x.size)
    inner, room = indices[1:-1], np.full(indices.size, np.inf)
    if x.size > 1:
        ends = x[1] - x[0], x[-1] - x[-2]
        room[0], room[-1] = (end or math.inf for end in ends)
        gaps = np.stack((x[inner] - x[inner - 1], x[inner + 1] - x[inner]))
        room[1:-1] = np.where(gaps == 0, np.inf, gaps).min(axis=0)
    return room / _MIN_SEPARATION


def probe_distances(
    near: Array, span: float, precision: float = EPSILON, most: Array | float = math.inf
) -> tuple[list[Array], list[Array]]:
    """How far apart the fine and the coarse probes ``near`` some places are, and how many such steps each is away.

    These are shares of the ``span``, at ``most`` so far, but as far as what computes in ``precision`` can tell.
    """
    usual = precision == EPSILON
    shares = (_FINE_DISTANCE, _COARSE_DISTANCE) if usual else _SHORT_DISTANCES
    least = _LEAST_DISTANCES if usual else _SHORT_LEAST_DISTANCES
    ulp = np.spacing(np.abs(near)) * (precision / EPSILON)
    gaps = [np.maximum(np.minimum(share * span, most), ulps * ulp) for share, ulps in zip(shares, least, strict=True)]
    return gaps, [_sides(FINE_PROBES), _sides(COARSE_PROBES)]


@lru_cache(maxsize=8)
def _sides(side: int) -> Array:
    """``side`` steps on each side of a place, from below to above."""
    steps = np.arange(1.0, side + 1)
    return np.concatenate((-steps[::-1], steps))


@lru_cache(maxsize=16)
def _indices(count: int) -> NDArray[np.intp]:
    return np.linspace(0, count - 1, min(PROBED_PLACES, count)).round().astype(np.intp)


def noise_along(probed: Array, x: Array, rise: float, precision: float = EPSILON) -> Array:
    """The root mean square noise of forward, from its values at the probes, interpolated to all of ``x``.

    High-order differences cancel whatever is smooth (R. W. Hamming, Numerical Methods, ch. 10); they are taken on each
    side of a place separately, so that a kink or jump at it cancels too. Where forward is rounded so coarsely that the
    fine probes all have one value, the coarse ones are used, and where these show nothing either, the noise elsewhere:
    up to a rounding step, or all of it where other points of ``x`` are so close that less far away was asked.
    Capped at a twentieth of the ``rise`` of the curve. ``precision`` is that of the probes.
    """
    fine = 2 * FINE_PROBES * _indices(x.size).size
    probed, coarse = probed[:fine], probed[fine:]
    step = ROUNDING_STEP * precision / EPSILON
    rms = noise_level(probed, coarse, gross=_JUMP * rise, step=step)
    loud = rms > MANY_ULPS * precision * np.abs(probed[:: 2 * FINE_PROBES])
    elsewhere = float(np.max(rms, initial=0.0, where=loud)) if loud.any() else _staircase_step(probed, step)
    rms[~loud] = np.maximum(rms[~loud], min(elsewhere, step))
    far = (_COARSE_DISTANCE if precision == EPSILON else _SHORT_DISTANCES[1]) * np.ptp(x)
    if loud.any() and not loud.all() and (deaf := ~(loud | (_room(x) >= far))).any():
        rms[deaf] = np.fmax(rms[deaf], np.interp(np.flatnonzero(deaf), np.flatnonzero(~deaf), rms[~deaf]))
    log_noise = np.log(np.maximum(np.minimum(moving_maximum(rms, _SMOOTHING), _MAX_SHARE * rise), _TINY))
    noise = np.exp(np.interp(np.arange(x.size), _indices(x.size), log_noise))
    return np.where(noise > 2 * _TINY, noise, 0.0)


def noise_level(close: Array, less_close: Array, *, gross: float = math.inf, step: float = ROUNDING_STEP) -> Array:
    """The noise at each place, from 3 fine and 6 coarse probes on each side of it.

    A single step above ``gross`` among small ones is a jump, not noise; steps up to ``step`` may be rounding.
    """
    fine = _rms(close, FINE_PROBES, gross, step)
    coarse = _rms(less_close, COARSE_PROBES, gross, step, growing=True)
    return np.where(coarse > CLEARLY * fine, coarse, np.where(coarse > 0, (fine + coarse) / 2, fine))


def noise_near(forward: Forward, places: Array, span: float) -> Array:
    """The noise of forward right beside each of some places: rounding may be much larger at a place than around it.

    As that of arcsin at 1. The fine probes alone tell; the coarse ones would take a kink nearby for noise.
    """
    (distance, _), (sides, _) = probe_distances(places, span)
    points = places[:, None] + distance[:, None] * sides
    return _rms(forward(points.ravel()), FINE_PROBES, math.inf, ROUNDING_STEP)


def _rms(values: Array, side: int, gross: float, step: float, growing: bool = False) -> Array:
    """The noise at each place, from the ``side`` values on either side of it.

    None where it must be but is not ``growing`` from any of the last three orders of differences to the next: of the
    few of the last order all may be 0 by chance.
    """
    first = _steps_without_jumps(values.reshape(-1, 2, side).swapaxes(0, 1), gross)
    differences = [first]
    for _ in range(side - 2):
        differences.append(differences[-1][..., 1:] - differences[-1][..., :-1])
    orders = range(side - (3 if growing else 1), side)
    levels = [np.sqrt(_mean(differences[each - 1] ** 2) / comb(2 * each, each)) for each in orders]
    rms = levels[-1]
    if growing:
        rms, before, earlier = levels[::-1]
        fallen = rms < SIMILAR * before
        rms[fallen] = np.where(before < SIMILAR * earlier, 0.0, SIMILAR * before)[fallen]
    # Where hardly any step is seen, the noise is half a step.
    steps = np.abs(first)
    highest = steps.max(axis=(0, 2))
    if not (highest <= step).any() and np.isfinite(rms).all():
        return rms
    quantized = (_mean(steps > 0) < _FEW_STEPS) & (highest <= step)
    rms = np.where(quantized, np.maximum(rms, highest / 2), rms)
    rms[~np.isfinite(rms)] = 0.0
    return rms


def _mean(values: NDArray[Any]) -> Array:
    """The mean over both sides of each place; of few numbers numpy.mean takes thrice as long."""
    mean: Array = np.add.reduce(values, axis=(0, 2), dtype=np.float64) / (values.shape[0] * values.shape[2])
    return mean


def _steps_without_jumps(sides: Array, gross: float) -> Array:
    """The steps between values with a jump, if it is the only gross step on its side, removed."""
    steps = sides[..., 1:] - sides[..., :-1]
    size = np.abs(steps)
    if not (size > gross).any():
        return steps
    size.sort(axis=-1)
    lone = (size[..., -1] > gross) & (size[..., -1] > _JUMP_RATIO * size[..., -2])
    if not lone.any():
        return steps
    jump = np.where(lone[..., None] & (np.abs(steps) == size[..., -1:]), steps, 0.0)
    sides = sides - np.concatenate((np.zeros_like(sides[..., :1]), np.cumsum(jump, axis=-1)), axis=-1)
    return sides[..., 1:] - sides[..., :-1]


def _staircase_step(values: Array, most: float) -> float:
    """The step height of a piecewise constant forward, if it is as small as the rounding of numbers near 1; else 0."""
    steps = np.abs(consecutive_differences(values))
    moves = steps > 0
    step = float(np.min(steps, initial=np.inf, where=moves))
    return step if moves.mean() < _FEW_STEPS and step <= most else 0.0


def moving_maximum(values: Array, reach: int) -> Array:
    """The moving maximum of non-negative ``values``, over ``reach`` places on either side of each."""
    maximum = np.zeros(values.size + 2 * reach)
    maximum[reach:-reach] = values
    window = 1
    while window <= 2 * reach:  # each element is the maximum of a window of this width
        shift = min(window, 2 * reach + 1 - window)
        maximum = np.maximum(maximum[:-shift], maximum[shift:])
        window += shift
    return maximum


def relative_precision(y: Array, shifted: Array) -> float:
    """Half a unit in the last place of the precision that a forward with the values ``y`` really has.

    Larger than that of float64 where it rounds to float32 or less inside. Constant pieces do not count, nor do values
    with few bits because their places have few: of those that are ``irrational`` they are ``shifted``.
    """
    return math.ldexp(1.0, -mantissa_bits(shifted)) if looks_rounded(y) and looks_rounded(shifted) else EPSILON


def irrational(x: Array) -> Array:
    """The points moved by a share of their distance, so that none has few bits."""
    return x + _IRRATIONAL_SHIFT * (x[-1] - x[0]) / x.size


def looks_rounded(y: Array) -> bool:
    """Whether all values have a short mantissa, and are no multiples of the last place of the largest that fill it.

    Those of a staircase are; what cancels has few bits where it is small, too, but its last place is another there.
    """
    bits = mantissa_bits(y)
    if not 1 < bits <= FLOAT32_BITS or int(np.count_nonzero(consecutive_differences(y))) <= y.size // 2:
        return False
    y = y[np.isfinite(y) & (y != 0)]
    exponents = np.frexp(y)[1]
    largest = exponents[(y.view(np.int64) & (1 << (53 - bits))) != 0].max()
    steps = np.ldexp(y, bits - largest)
    return bool((steps != np.rint(steps)).any() or np.count_nonzero(exponents != largest) < _MIN_VALUES)
