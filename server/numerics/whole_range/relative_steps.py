"""Numerical slopes over many orders of magnitude: central differences with steps proportional to |x|."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ...runtime.arrays import Array, Forward
from ...runtime.section import Section
from ..differentiation.noise import mantissa_bits
from ..differentiation.richardson import extrapolate, tableau
from .domain_reach import DomainReach

_LEVELS, _RATIO = 4, 3.0
# The widest step, as a fraction of |x|.
_WIDEST, _WIDEST_LOW_PRECISION = 2e-3, 0.05
# The significant bits of the short dtypes that a forward may round to inside.
_SHORT = (24, 11, 8, 4, 3)
_TINY = float(np.finfo(np.float64).tiny)


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
    ladder = (_WIDEST if section.dtype == torch.float64 else _WIDEST_LOW_PRECISION) * _RATIO ** -np.arange(_LEVELS)[
        :, None
    ]
    steps = np.abs(x) * ladder
    points = np.empty((2 * _LEVELS + 1, x.size))
    points[0], points[1 : _LEVELS + 1], points[_LEVELS + 1 :] = x, x + steps, x - steps
    points = section.snap(points.ravel()).reshape(points.shape)
    values = forward_within(section, reach)(points.ravel()).reshape(points.shape)
    bits = mantissa_bits(values.ravel())
    precision = max(unit, 2.0**-bits if bits in _SHORT else 0.0)
    above, below = values[1 : _LEVELS + 1], values[_LEVELS + 1 :]
    gaps = points[1 : _LEVELS + 1] - points[_LEVELS + 1 :]
    central = (above - below) / gaps
    size = np.maximum(np.abs(above), np.abs(below))
    rounding = np.where(size > 0, 2 * precision * size + _TINY, 0.0)
    scatter = (rounding + unit * np.abs(x * central[-1])) / gaps
    slope, error, noise = extrapolate(central, scatter, tableau(_LEVELS, _RATIO, 2), wary=False)
    slope[~np.isfinite(error)] = np.nan
    return RelativeStepSlopes(values[0], slope, error, noise, precision)


def forward_within(section: Section, reach: DomainReach) -> Forward:
    """The section's forward, NaN beyond ``reach``."""

    def forward(t: Array) -> Array:
        inside = (t >= reach.low) & (t <= reach.high)
        if inside.all():
            return section.forward(t)
        y = np.full(t.shape, np.nan)
        y[inside] = section.forward(t[inside])
        return y

    return forward
