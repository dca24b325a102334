"""The gradient map: ``grad_input / grad_output`` for many values of grad_output, equal rows if backward is linear."""

from __future__ import annotations

import math
import sys

import numpy as np

from ...runtime.arrays import Array
from ...runtime.failure import FunctionFailed
from ...runtime.section import Section

_VALUES = 81  # budget: the values of grad_output, 0 and both signs of each other one
# sample: how far they reach at least, and how many times as far as the one that is asked for.
_MIN_REACH, _MARGIN = 3.0, 1.5
_ROUND_NUMBERS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)  # unit: what the axis may end at, times a power of ten


def grad_output_axis(grad_output: float) -> Array:
    """81 values of ``grad_output``, increasing and symmetric about 0, the one asked for among them."""
    size, most = abs(grad_output), sys.float_info.max
    reach = max(_MIN_REACH, _MARGIN * size)
    if reach <= most / _ROUND_NUMBERS[-1]:  # up to the next number with hardly more than one digit
        power = 10.0 ** math.floor(math.log10(reach))
        most = next(each * power for each in _ROUND_NUMBERS if each * power >= reach * (1 - sys.float_info.epsilon))
    half = np.linspace(0.0, most, _VALUES // 2 + 1)
    if size:
        half[max(1, int(np.abs(half - size).argmin()))] = size
    return np.concatenate((-half[:0:-1], half))


@np.errstate(all="ignore")
def gradient_map(section: Section, x: Array, grad_outputs: Array) -> Array:
    """``grad_input / grad_output``, a row for each of the ``grad_outputs`` and a column for each ``x``.

    All points of a row have the same grad_output, as in a call of their own. NaN where that is 0, and where
    forward or what is returned is not finite; so is a row whose grad_output backward fails for. Raises
    ``FunctionFailed`` where forward fails.
    """
    ratio = np.full((grad_outputs.size, x.size), np.nan)
    for row, grad_output in zip(ratio, section.snap(grad_outputs).tolist(), strict=True):
        if not grad_output:
            continue
        try:
            returned = section.backward(x, grad_output)
        except FunctionFailed as error:
            if error.failure.phase == "forward":
                raise
            continue
        if returned.grad_input is not None:
            row[:] = np.where(np.isfinite(returned.values), returned.grad_input / grad_output, np.nan)
    ratio[~np.isfinite(ratio)] = np.nan
    return ratio
