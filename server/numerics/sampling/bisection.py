"""Where on the way from one point to another something begins."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Array

# So many rounds of so many points.
_ROUNDS, _BETWEEN = 2, 66


def begins(
    holds: Callable[[Array], NDArray[np.bool_]], snap: Callable[[Array], Array], start: float, stop: float
) -> float:
    """The first of the numbers from ``start``, where it does not hold, to ``stop``, where it does, at which it holds.

    Known to about a four thousandth of the way, which is measured in proportion where both have one sign. ``snap``
    makes numbers ones that can be asked.
    """
    for _ in range(_ROUNDS):
        between = np.geomspace(start, stop, _BETWEEN) if start * stop > 0 else np.linspace(start, stop, _BETWEEN)
        between = snap(between)
        at = int(np.append(holds(between[1:-1]), True).argmax()) + 1
        start, stop = float(between[at - 1]), float(between[at])
    return stop
