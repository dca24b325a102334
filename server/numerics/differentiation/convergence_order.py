"""Straight lines on logarithmic paper: the power with which an error falls as the step shrinks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...runtime.arrays import Array

# The steps over which a law is fitted, and how far they stand above what hides it.
_RUN, CLEAR = 8, 30.0
# Its points lie on the line to this share of e, and the line falls at least so fast.
_STRAIGHT, _FALLS = 0.15, 0.5


@dataclass(frozen=True)
class Law:
    """``coefficient · step ** order``."""

    order: float
    coefficient: float

    def at(self, steps: Array) -> Array:
        """What the law says for these ``steps``."""
        return self.coefficient * steps**self.order


def fitted(steps: Array, error: Array, noise: Array) -> Law | None:
    """The law that ``error`` keeps at the smallest of the ``steps`` (widest first) where it stands clear of ``noise``.

    None where it never does for long enough, or keeps no law.
    """
    clear = (error > CLEAR * noise).astype(int)
    runs = np.flatnonzero(np.convolve(clear, np.ones(_RUN, int), "valid") == _RUN)
    if not runs.size:
        return None
    rows = slice(int(runs[-1]), int(runs[-1]) + _RUN)
    across, up = np.log(steps[rows]), np.log(error[rows])
    height, order = np.polynomial.polynomial.polyfit(across, up, 1).tolist()
    straight = float(np.abs(height + order * across - up).max()) <= _STRAIGHT
    return Law(order, math.exp(height)) if straight and order > _FALLS else None
