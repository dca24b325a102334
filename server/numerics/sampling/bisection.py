"""Multisection search for the point between two others from which a condition holds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Array

# The number of rounds, and of points in each.
_ROUNDS, _BETWEEN = 2, 66


def first_where(
    holds: Callable[[Array], NDArray[np.bool_]], snap: Callable[[Array], Array], start: float, stop: float
) -> float:
    """The first number at which the condition holds, between ``start``, where it does not, and ``stop``, where it does.

    Accurate to about 1/4000 of the interval, on a logarithmic scale where both ends have the same sign. ``snap``
    rounds numbers to the dtype.
    """
    for _ in range(_ROUNDS):
        between = np.geomspace(start, stop, _BETWEEN) if start * stop > 0 else np.linspace(start, stop, _BETWEEN)
        between = snap(between)
        at = int(np.append(holds(between[1:-1]), True).argmax()) + 1
        start, stop = float(between[at - 1]), float(between[at])
    return stop
