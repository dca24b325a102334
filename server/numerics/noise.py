"""The scale of values: the rounding a forward shows, the precision it computes in, the largest there is."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, reduce

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Forward = Callable[[Array], Array]

EPSILON = 2.0**-53
PLACES = 24
POINTS = 7
THIRD = 3
# A third difference of white noise has variance 20 σ² (1 + 9 + 9 + 1).
THIRD_DIFFERENCE_GAIN = 20.0
FLOAT32_BITS = 24
CROOKED = 1 / math.pi
SMALL_BITS = 4
ENOUGH = 8


def probe_points(x: Array, span: float) -> tuple[NDArray[np.intp], Array]:
    """Places along ``x`` and, around each, 7 points so close together that only noise differs."""
    at = _places(x.size)
    near = x[at]
    gap = np.maximum(2e-10 * span, 256 * np.spacing(np.abs(near)))
    return at, (near[:, None] + gap[:, None] * np.arange(-THIRD, THIRD + 1)).ravel()


@lru_cache(maxsize=16)
def _places(count: int) -> NDArray[np.intp]:
    return np.linspace(0, count - 1, min(PLACES, count)).round().astype(np.intp)


def noise_along(values: Array, at: NDArray[np.intp], count: int, rise: float) -> Array:
    """The root mean square noise of the probed ``values``, interpolated to all ``count`` points.

    Third differences cancel whatever is smooth (R. W. Hamming, Numerical Methods, ch. 10). Capped at
    1e-9 of the ``rise`` of the curve: a probe astride a jump is not noise.
    """
    third = values.reshape(at.size, POINTS)
    for _ in range(THIRD):
        third = third[:, 1:] - third[:, :-1]
    rms = np.sqrt((third * third).mean(axis=1) / THIRD_DIFFERENCE_GAIN)
    rms[~np.isfinite(rms)] = 0.0
    return np.interp(np.arange(count), at, np.minimum(largest_nearby(rms, 1), 1e-9 * rise))


def largest_nearby(values: Array, reach: int) -> Array:
    """The largest of the ``values``, none of them negative, within ``reach`` places on either side of each."""
    padded = np.zeros(values.size + 2 * reach)
    padded[reach:-reach] = values
    return reduce(np.maximum, (padded[shift : shift + values.size] for shift in range(2 * reach + 1)))


def mantissa_bits(y: Array) -> int:
    """The significant bits that values of ``y`` use: 53 for double, at most 24 where float32 is inside."""
    finite = y[np.isfinite(y)]
    used = int(np.bitwise_or.reduce(finite.view(np.int64) & ((1 << 52) - 1))) if finite.size else 0
    return 53 - ((used & -used).bit_length() - 1) if used else 1


def relative_precision(forward: Forward, x: Array, y: Array) -> float:
    """Half a unit in the last place of what ``forward``, which has the values ``y`` at ``x``, really carries.

    More than double precision's where it rounds to float32 or less inside. Constant pieces do not count,
    nor do values that are short because ``x`` is: those are asked again at crooked places.
    """
    if not _looks_rounded(y):
        return EPSILON
    crooked = forward(x + CROOKED * (x[-1] - x[0]) / x.size)
    return math.ldexp(1.0, -mantissa_bits(crooked)) if _looks_rounded(crooked) else EPSILON


def largest(values: Array, share: float = 1.0) -> float:
    """The largest finite magnitude among this share of the values, the smallest ones."""
    magnitude = np.abs(values)
    magnitude = magnitude[np.isfinite(magnitude)]
    if not magnitude.size:
        return 0.0
    return float(magnitude.max() if share == 1 else np.quantile(magnitude, share))


def _looks_rounded(y: Array) -> bool:
    """Whether all values share a short mantissa, the small ones too: a staircase has fewer bits for those."""
    bits = mantissa_bits(y)
    if not 1 < bits <= FLOAT32_BITS or int(np.count_nonzero(np.diff(y))) <= y.size // 2:
        return False
    magnitude = np.abs(y)
    small = y[(magnitude > 0) & (magnitude <= np.nanmax(magnitude, initial=0.0, where=np.isfinite(y)) / 2**SMALL_BITS)]
    return small.size < ENOUGH or mantissa_bits(small) > bits - SMALL_BITS + 1
