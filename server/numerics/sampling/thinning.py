"""How many points of a section there is time for, where every one of them needs calls of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...runtime.failure import FunctionFailed
from ...runtime.section import Section
from ...runtime.timing import quickest
from .grid import Grid

# A point takes about so many calls, and all of them are to end in so many seconds; there are at least so many points.
_CALLS, _ENOUGH, _LEAST = 30, 6.0, 21


def thinned(section: Section, grid: Grid, grad_output: float) -> Grid:
    """The grid, or one of every second, fourth, … of its points where forward and backward are slow."""
    if section.stacked:
        return grid
    t, count = section.snap(np.array([(grid.start + grid.stop) / 2])), grid.count
    try:
        seconds = quickest(lambda: section.backward(t, grad_output), _ENOUGH / (count * _CALLS))
    except FunctionFailed:
        return grid
    while count * _CALLS * seconds > _ENOUGH and count // 2 + 1 >= _LEAST:
        count = count // 2 + 1
    return replace(grid, count=count)
