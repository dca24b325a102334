"""The sampling budget: fewer grid points for a Function that is slow and cannot be batched."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...runtime.failure import FunctionFailed
from ...runtime.section import Section
from ...runtime.timing import minimum_time
from .grid import Grid

# The approximate number of calls per point, the budget in seconds, and the least number of points.
_CALLS, _ENOUGH, _LEAST = 30, 6.0, 21


def thin_grid(section: Section, grid: Grid, grad_output: float) -> Grid:
    """The grid, halved as often as needed where forward and backward are slow."""
    if section.stacked:
        return grid
    t, count = section.snap(np.array([(grid.start + grid.stop) / 2])), grid.count
    try:
        seconds = minimum_time(lambda: section.backward(t, grad_output), _ENOUGH / (count * _CALLS))
    except FunctionFailed:
        return grid
    while count * _CALLS * seconds > _ENOUGH and count // 2 + 1 >= _LEAST:
        count = count // 2 + 1
    return replace(grid, count=count)
