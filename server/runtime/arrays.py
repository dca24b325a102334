"""Array types used throughout the numerics, and the unit roundoff of float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Forward = Callable[[Array], Array]
EPSILON = 2.0**-53  # unit: half a unit in the last place of 1.0


def largest_magnitude(values: Array, share: float = 1.0) -> float:
    """The largest finite magnitude, or the ``share`` quantile of the finite magnitudes where ``share`` < 1."""
    magnitude = np.abs(values)
    magnitude = magnitude[np.isfinite(magnitude)]
    if not magnitude.size:
        return 0.0
    return float(magnitude.max() if share == 1 else np.quantile(magnitude, share))


Interval = tuple[float, float]
