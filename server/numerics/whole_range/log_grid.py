"""Points over many orders of magnitude, and what lies further in than each of them."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray

from ...runtime.arrays import Array
from .domain_reach import Reach

# How many points there are from one power of ten to another; a few lie beyond. None is round, for kinks lie there.
DENSITY = ((-10, -6, 1), (-6, -3, 3), (-3, 4, 10), (4, 16, 3))
_INNER, OUTER, _CROOKED = 12, 20, 0.0137
# Of the largest number, so that differences find room.
_SHARE = 0.9
# The power of ten of the smallest of all: differences at the very smallest number lose their places.
_LEAST = -300.0
# Slopes further in are of interest for so many times less.
DECADE = 10.0


def decades(dtype: torch.dtype, reach: Reach, most: int | None = None) -> Array:
    """Points from the smallest to the largest number of the dtype within ``reach``, both signs, increasing.

    Not 0 itself. At most ``most`` if that is given.
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
    parts = [np.linspace(least, DENSITY[0][0], _INNER, endpoint=False)]
    parts += [np.arange(low, high, 1 / each) + _CROOKED for low, high, each in DENSITY]
    parts.append(np.linspace(most, DENSITY[-1][1], OUTER, endpoint=False)[::-1])
    powers = np.concatenate(parts)
    powers = np.sort(powers[(powers >= least) & (powers < most)])
    return np.append(10.0**powers, info.max * _SHARE * _SHARE)


def outwards(x: Array) -> tuple[NDArray[np.intp], ...]:
    """The rows of the negative and of the positive ``x``, each from 0 outwards."""
    first = int(np.searchsorted(x, 0.0))
    return np.arange(first)[::-1], np.arange(first, x.size)


def largest_further_in(x: Array, values: Array) -> Array:
    """The largest of the ``values``, none negative, from a tenth of each ``x`` to it."""
    found = np.zeros_like(values)
    for rows in outwards(x):
        size = np.abs(x[rows])
        windows = np.stack((np.searchsorted(size, size / DECADE), np.arange(1, size.size + 1)), axis=1)
        found[rows] = np.maximum.reduceat(np.append(values[rows], 0.0), windows.ravel())[::2]
    return found
