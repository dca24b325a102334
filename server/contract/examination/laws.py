"""The laws of linearity along a sweep, for the one output and the one input that are looked at."""

from __future__ import annotations

import numpy as np

from ...numerics.linearity.laws import Linearity, examine
from ...runtime.batching import arranged
from ...runtime.section import Section

# Points at which they are put to a section, and where each needs calls of its own.
POINTS, FEW = 33, 4


def laws_along(section: Section, reach: tuple[float, float]) -> Linearity:
    """The laws that backward breaks along the sweep, for the output and the input that are looked at."""
    if section.sweeps_parameter:
        return Linearity()
    x = np.unique(section.snap(np.linspace(*reach, POINTS)))
    try:
        cut = arranged(section, x)
        x = x if cut.stacked else x[:: POINTS // FEW]
        return examine(cut, x, 1.0, cut.backward(x, 1.0))
    except Exception:  # noqa: BLE001 what fails is told elsewhere
        return Linearity()
