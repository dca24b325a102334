"""Points and numerical slopes over all magnitudes of a dtype: a logarithmic grid, steps proportional to |x|."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray

from ...runtime.arrays import Array, Forward, mantissa_bits
from ...runtime.domain_reach import DomainReach
from ...runtime.section import Section
from ..differentiation.finite_differences import WIDEST_LOW_PRECISION, WIDEST_STEP, Ladder

# sample: (from, to, points per decade) in powers of ten.
_DENSITY = ((-10, -6, 1), (-6, -3, 3), (-3, 4, 10), (4, 16, 3))
_POINTS_BELOW, _POINTS_ABOVE, _IRREGULAR = 12, 20, 0.0137  # sample: a few lie beyond; none is round: kinks lie there
_MARGIN = 0.9  # sample: the share of the largest number, or of the reach, that is asked for: differences need room
_MIN_POWER = -300.0  # sample: the least power of ten: differences at even smaller numbers lose their digits
_DECADE = 10.0  # bound: the slopes that set the tolerance at x lie between x and x divided by this
# unit: significant bits that a forward may round to inside: those of float32, float16, bfloat16 and two float8.
_SHORT_MANTISSAS = (24, 11, 8, 4, 3)


def log_grid_points(dtype: torch.dtype, reach: DomainReach, most: int | None) -> Array:
    """Points of both signs from the smallest to the largest number of the dtype within ``reach``, increasing.

    Without 0. At most ``most`` if that is given.
    """
    size = _magnitudes(dtype)
    if most is not None:
        size = size[:: -(-2 * size.size // most)]
    low, high = size[size <= -_MARGIN * reach.low], size[size <= _MARGIN * reach.high]
    return np.concatenate((-low[::-1], high))


@lru_cache(maxsize=8)
def _magnitudes(dtype: torch.dtype) -> Array:
    info = torch.finfo(dtype)
    least, most = max(math.log10(info.smallest_normal), _MIN_POWER), math.log10(info.max * _MARGIN * _MARGIN)
    parts = [np.linspace(least, _DENSITY[0][0], _POINTS_BELOW, endpoint=False)]
    parts += [np.arange(low, high, 1 / each) + _IRREGULAR for low, high, each in _DENSITY]
    parts.append(np.linspace(most, _DENSITY[-1][1], _POINTS_ABOVE, endpoint=False)[::-1])
    powers = np.concatenate(parts)
    powers = np.sort(powers[(powers >= least) & (powers < most)])
    return np.append(10.0**powers, info.max * _MARGIN * _MARGIN)


def indices_outwards(x: Array) -> tuple[NDArray[np.intp], ...]:
    """The indices of the negative and of the positive ``x``, each from 0 outwards."""
    first = int(np.searchsorted(x, 0.0))
    return np.arange(first)[::-1], np.arange(first, x.size)


def largest_further_in(x: Array, values: Array) -> Array:
    """The largest of the non-negative ``values`` between a tenth of each ``x`` and ``x``."""
    largest: Array = np.maximum.reduceat(np.append(values, 0.0), _windows_inwards(x.tobytes()))[::2]
    return largest


@lru_cache(maxsize=8)
def _windows_inwards(points: bytes) -> NDArray[np.intp]:
    """Where the window of each of these points begins and ends among them."""
    x = np.frombuffer(points)
    here, (low, high) = np.arange(x.size), (np.searchsorted(x, x / _DECADE, side) for side in ("left", "right"))
    return np.stack((np.where(x > 0, low, here), np.where(x > 0, here + 1, high)), axis=1).ravel()


@dataclass(frozen=True)
class RelativeStepSlopes:
    """Values and slopes of forward; ``error`` bounds that of the slopes, ``noise`` is the rounding part of it.

    ``precision`` is half a unit in the last place of the precision that forward computes in.
    """

    y: Array
    slope: Array
    error: Array
    noise: Array
    precision: float


def relative_step_slopes(section: Section, reach: DomainReach, x: Array) -> RelativeStepSlopes:
    """The slope of ``section`` at every ``x`` (1-D), from central differences at steps from 0.2 % of |x| down.

    Nine forwards per point, none beyond ``reach``. The error bound is that of a single scale: oscillations much finer
    than the steps do not show in it. Raises ``FunctionFailed``.
    """
    unit = torch.finfo(section.dtype).eps / 2
    widest = WIDEST_STEP if section.dtype == torch.float64 else WIDEST_LOW_PRECISION
    ladder = Ladder.around(forward_within(section, reach), x, widest * np.abs(x), 0.0, unit, snap=section.snap)
    bits = mantissa_bits(np.concatenate((ladder.y, ladder.above, ladder.below), axis=None))
    precision = max(unit, 2.0**-bits if bits in _SHORT_MANTISSAS else 0.0)
    slope, error, noise = replace(ladder, precision=precision).central(wary=False)
    slope[~np.isfinite(error)] = np.nan
    if not ladder.y.all():
        nothing = (ladder.y == 0) & ((ladder.above == 0) & (ladder.below == 0)).all(axis=0)  # of it nothing is rounded
        error[nothing] = noise[nothing] = 0.0
    return RelativeStepSlopes(ladder.y, slope, error, noise, precision)


def forward_within(section: Section, reach: DomainReach) -> Forward:
    """The section's forward, NaN beyond ``reach``."""
    return lambda t: section.forward_within(t, (t >= reach.low) & (t <= reach.high))
