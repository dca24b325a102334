"""Array types used throughout the numerics, the unit roundoff of float64, and the names of dtypes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Forward = Callable[[Array], Array]
Interval = tuple[float, float]
_Record = TypeVar("_Record", bound=Any)
_Number = TypeVar("_Number", np.float64, np.intp)
EPSILON = 2.0**-53  # unit: half a unit in the last place of 1.0
# unit: the significant bits of float32; pattern: with at most so many bits values may be those of a staircase, too.
FLOAT32_BITS, STAIRCASE_BITS = 24, 12


def dtype_name(dtype: torch.dtype) -> str:
    """The name without the module: ``float32``."""
    return str(dtype).removeprefix("torch.")


def largest_magnitude(values: Array, share: float = 1.0) -> float:
    """The largest finite magnitude, or the ``share`` quantile of the finite magnitudes where ``share`` < 1."""
    magnitude = np.abs(values)
    if share == 1 and math.isfinite(largest := magnitude.max(initial=0.0)):
        return float(largest)
    magnitude = magnitude[np.isfinite(magnitude)]
    if not magnitude.size:
        return 0.0
    return float(magnitude.max() if share == 1 else np.quantile(magnitude, share))


def finite_rise(values: Array) -> float:
    """How far the finite values lie apart."""
    if values.size and math.isfinite(rise := np.ptp(values)):
        return float(rise)
    finite = values[np.isfinite(values)]
    return float(finite.max() - finite.min()) if finite.size else 0.0


def evenly_chosen(rows: NDArray[_Number], most: int) -> NDArray[_Number]:
    """At most so many of some rows, evenly spaced, the first and the last among them."""
    if rows.size <= most:
        return rows
    return rows[np.linspace(0, rows.size - 1, most).astype(np.intp)]


def median(values: Array) -> Array:
    """The median along the last axis, of numbers; numpy.median, which expects others, takes three times as long."""
    count, ordered = values.shape[-1], np.sort(values, axis=-1)
    middle: Array = (ordered[..., (count - 1) // 2] + ordered[..., count // 2]) / 2
    return middle


def at_rows(record: _Record, rows: Mask | NDArray[np.intp] | slice) -> _Record:
    """The same at some of the places: a record of arrays with an element for each, and of what is one for all."""
    fields = (getattr(record, name) for name in record.__dataclass_fields__)
    found: _Record = type(record)(*(each[rows] if isinstance(each, np.ndarray) else each for each in fields))
    return found


def consecutive_differences(values: NDArray[Any]) -> NDArray[Any]:
    """The differences along the first axis, as ``numpy.diff``, which takes thrice as long for a few numbers."""
    return values[1:] - values[:-1]


def unbroken_runs(mask: Mask) -> list[tuple[int, int]]:
    """The first and the last of every unbroken run in ``mask``."""
    edges = consecutive_differences(np.concatenate(([0], mask.astype(np.int8), [0])))
    firsts, lasts = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


def longest_run(mask: Mask) -> tuple[int, int]:
    """The first and the last of the longest run in ``mask``, of which there is one: of equals the first."""
    return max(unbroken_runs(mask), key=lambda run: run[1] - run[0])


def two_around(some: NDArray[np.intp], places: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The two of ``some`` rows, in order, between which each of the places lies, by where they stand among them."""
    after = np.minimum(np.searchsorted(some, places), some.size - 1)
    return after, np.maximum(np.searchsorted(some, places, side="right") - 1, 0)


@lru_cache(maxsize=64)
def unit_shares(parts: int) -> Array:
    """The ends of so many equal parts of 1, as a column."""
    return np.linspace(0, 1, parts + 1)[:, None]


def finite_numbers(values: Array, nan: float = 0.0, infinity: float | None = None) -> Array:
    """The values with numbers in the place of NaN and ±∞, by default 0 and the largest there are."""
    return values if np.isfinite(values).all() else np.nan_to_num(values, nan=nan, posinf=infinity, neginf=infinity)


def mantissa_bits(y: Array) -> int:
    """The significant bits that the values ``y`` use: 53 for double, at most 24 where float32 was used inside."""
    finite = y[np.isfinite(y)]
    used = int(np.bitwise_or.reduce(finite.view(np.int64) & ((1 << 52) - 1))) if finite.size else 0
    return 53 - ((used & -used).bit_length() - 1) if used else 1


def has_float32_digits(y: Array) -> bool:
    """Whether the values ``y`` have as many significant bits as float32 leaves, and more than a staircase may have."""
    return STAIRCASE_BITS < mantissa_bits(y) <= FLOAT32_BITS
