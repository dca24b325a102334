"""A logarithmic grid over all magnitudes of a dtype, and maxima over the decade below each point."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray

from ...runtime.arrays import Array
from .domain_reach import DomainReach

# (from, to, points per decade) in powers of ten; a few points lie beyond. None is round, because kinks lie there.
_DENSITY = ((-10, -6, 1), (-6, -3, 3), (-3, 4, 10), (4, 16, 3))
_INNER, _OUTER, _CROOKED = 12, 20, 0.0137
# A fraction of the largest number, to leave room for differences.
_SHARE = 0.9
# The least power of ten: differences at even smaller numbers lose their digits.
_LEAST = -300.0
# The window of ``largest_further_in``, as a ratio.
_DECADE = 10.0


def log_grid_points(dtype: torch.dtype, reach: DomainReach, most: int | None = None) -> Array:
    """Points of both signs from the smallest to the largest number of the dtype within ``reach``, increasing.

    Without 0. At most ``most`` if that is given.
    """
    size = _sizes(dtype)
    if most is not None:
        size = size[:: -(-2 * size.size // most)]
    low, high = size[size <= -_SHARE * reach.low], size[size <= _SHARE * reach.high]
    return np.concatenate((-low[::-1], high))


@lru_cache(maxsize=8)
def _sizes(dtype: torch.dtype) -> Array:
    info = torch.finfo(dtype)
    least, most = max(math.log10(info.smallest_normal), _LEAST), math.log10(info.max * _SHARE * _SHARE)
    parts = [np.linspace(least, _DENSITY[0][0], _INNER, endpoint=False)]
    parts += [np.arange(low, high, 1 / each) + _CROOKED for low, high, each in _DENSITY]
    parts.append(np.linspace(most, _DENSITY[-1][1], _OUTER, endpoint=False)[::-1])
    powers = np.concatenate(parts)
    powers = np.sort(powers[(powers >= least) & (powers < most)])
    return np.append(10.0**powers, info.max * _SHARE * _SHARE)


def indices_outwards(x: Array) -> tuple[NDArray[np.intp], ...]:
    """The indices of the negative and of the positive ``x``, each from 0 outwards."""
    first = int(np.searchsorted(x, 0.0))
    return np.arange(first)[::-1], np.arange(first, x.size)


def largest_further_in(x: Array, values: Array) -> Array:
    """The largest of the non-negative ``values`` between a tenth of each ``x`` and ``x``."""
    found = np.zeros_like(values)
    for rows in indices_outwards(x):
        size = np.abs(x[rows])
        windows = np.stack((np.searchsorted(size, size / _DECADE), np.arange(1, size.size + 1)), axis=1)
        found[rows] = np.maximum.reduceat(np.append(values[rows], 0.0), windows.ravel())[::2]
    return found
