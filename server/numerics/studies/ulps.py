"""Errors in units in the last place (ulps) of a dtype."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from ...runtime.arrays import Array


@dataclass(frozen=True)
class UlpErrors:
    """Errors in units in the last place, one a point, NaN where two values cannot be compared.

    ``median`` and ``largest`` sum them up, ``x`` is where the largest is; all three are NaN if none is a number.
    """

    each: Array
    median: float = math.nan
    largest: float = math.nan
    x: float = math.nan


def no_ulp_errors(x: Array) -> UlpErrors:
    """Errors that are all NaN, for values that cannot be compared."""
    return UlpErrors(np.full(x.size, np.nan))


def ulp_errors(found: Array, true: Array, x: Array, dtype: torch.dtype) -> UlpErrors:
    """How far the values ``found`` at ``x`` are from the ``true`` ones: ½ is as near as the dtype can hold."""
    with np.errstate(all="ignore"):
        each = np.abs(found - true) / ulp_size(true, dtype)
    each[~np.isfinite(each)] = np.nan
    numbers = np.flatnonzero(np.isfinite(each))
    if not numbers.size:
        return UlpErrors(each)
    row = numbers[each[numbers].argmax()]
    return UlpErrors(each, float(np.median(each[numbers])), float(each[row]), float(x[row]))


def ulp_size(values: Array, dtype: torch.dtype) -> Array:
    """The distance of neighbouring numbers of the dtype at ``values``; among the smallest it no longer shrinks."""
    info = torch.finfo(dtype)
    _, exponent = np.frexp(np.maximum(np.abs(values), info.smallest_normal))
    return np.ldexp(info.eps, exponent - 1)
