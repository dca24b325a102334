"""Whether forward goes the other way than what was returned says: that is more than any rounding makes of a slope."""

from __future__ import annotations

import numpy as np

from ...runtime.arrays import EPSILON, Array, Forward, Mask
from .finite_differences import EVIDENCE_BOUNDS, Ladder, Slopes

_WIDER = 2.0, 4.0  # sample: it is measured by steps so many times as wide, over which rounding weighs less
_BOUNDS = EVIDENCE_BOUNDS / 2  # bound: half of the evidence is enough from each of two measurements


@np.errstate(all="ignore")
def goes_the_other_way(forward: Forward, x: Array, y: Array, returned: Array, slopes: Slopes) -> Mask:
    """Where forward, ``y`` at ``x``, has a slope of the other sign than what was ``returned``, a number a point.

    Asked where it computes in a short precision, of which the ``slopes`` are known too vaguely to decide. By two
    ladders of wider steps the slope must have that sign beyond doubt, on either side alike, and by the narrow one none
    that speaks for what was returned. Raises ``FunctionFailed`` where ``forward`` does.
    """
    if slopes.precision == EPSILON:
        return np.zeros(x.size, bool)
    other = ~(slopes.value * returned > 0)
    for wider in _WIDER:
        ladder = Ladder.around(forward, x, wider * slopes.step, slopes.noise / 2, slopes.precision, y)
        value, error, _ = ladder.central()
        sides = np.stack((ladder.above[0] - y, y - ladder.below[0])) * np.sign(returned)
        other &= (value * returned < 0) & (np.abs(value - returned) > _BOUNDS * error)
        other &= (sides < -ladder.rounding[0]).all(axis=0)
    return other
