"""Order of convergence: a power law fitted to the error as a function of the step, in log-log coordinates."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...runtime.arrays import Array

# The number of steps over which a law is fitted, and the least ratio of error to noise.
_RUN, _CLEAR = 8, 30.0
# The largest deviation from the line (in natural logarithms), and the least order.
_STRAIGHT, _FALLS = 0.15, 0.5


@dataclass(frozen=True)
class PowerLaw:
    """``coefficient · step ** order``."""

    order: float
    coefficient: float

    def at(self, steps: Array) -> Array:
        """The error that the law predicts for these ``steps``."""
        return self.coefficient * steps**self.order


def fit_power_law(steps: Array, error: Array, noise: Array) -> PowerLaw | None:
    """The power law of ``error`` at the smallest ``steps`` (widest first) where it is clearly above ``noise``.

    None where too few consecutive steps are, or where they do not lie on a line.
    """
    clear = (error > _CLEAR * noise).astype(int)
    runs = np.flatnonzero(np.convolve(clear, np.ones(_RUN, int), "valid") == _RUN)
    if not runs.size:
        return None
    rows = slice(int(runs[-1]), int(runs[-1]) + _RUN)
    across, up = np.log(steps[rows]), np.log(error[rows])
    height, order = np.polynomial.polynomial.polyfit(across, up, 1).tolist()
    straight = float(np.abs(height + order * across - up).max()) <= _STRAIGHT
    return PowerLaw(order, math.exp(height)) if straight and order > _FALLS else None
