"""How a section may be evaluated, found by measurement: all points together, or one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from . import timing
from .arrays import Array, largest
from .failure import FunctionFailed
from .section import Section

# The points that are asked alone what they say, as shares of all: not symmetric, not at the ends. Of a tensor there
# are more: where elements are masked or cut off, some are right by chance.
WITNESSES = np.array([0.13, 0.41, 0.87])
MANY_WITNESSES = np.array([0.03, 0.13, 0.19, 0.29, 0.41, 0.52, 0.58, 0.67, 0.74, 0.87, 0.94])
# So many copies of one point must say the same, wherever they lie.
COPIES = 16
# Steps of this share of the circle never fall into line: an order in which no neighbours stay neighbours.
GOLDEN = (5**0.5 - 1) / 2
# Seconds after which another way to stack is tried although one is borne.
_SLOW = 0.004
LAST_PLACES = {8: 1e-11, 4: 1e-5, 2: 1e-2}


def arranged(section: Section, t: Array, grad_output: float = 1.0) -> Section:
    """The same section, with as many inputs ``stacked`` as the Function bears at the points ``t``.

    A copy of the inputs per point is stacked along the first dimension, and what some points say then, among
    all the others out of order, must be what they say alone, value and gradient. Tried are all inputs together
    (elementwise Functions) and the swept one alone (rows that do not see each other). Where both will do and all
    together is slow, as where each row is held against every row of another input, the faster way is taken.
    """
    alone = replace(section, stacked=())
    if section.sweeps_parameter:
        return alone
    t = t[np.argsort(np.arange(t.size) * GOLDEN % 1)]
    witnesses = witnesses_of(section, t.size)
    try:
        wanted = _said(alone, t[witnesses], grad_output)
        size = alone.output_size(t[witnesses[:1]]) * witnesses.size
    except FunctionFailed:
        return alone
    ways: list[tuple[float, Section]] = []
    for names in dict.fromkeys((tuple(name for name, _ in section.inputs), (section.wrt,))):
        together = replace(section, stacked=names)
        begun = timing.now()
        if _bears(together, t, witnesses, grad_output, wanted, size):
            ways.append((timing.now() - begun, together))
            if ways[0][0] < _SLOW:
                break
    return min(ways, key=lambda way: way[0])[1] if ways else alone


def witnesses_of(section: Section, count: int) -> NDArray[np.intp]:
    """Which of so many points are asked alone."""
    single = all(len(values) == 1 for _, values in section.inputs)
    return np.unique(((WITNESSES if single else MANY_WITNESSES) * count).astype(np.intp))


def structure(section: Section) -> str:
    """How the points of the section are evaluated: ``together`` or ``one by one``."""
    return "together" if section.stacked else "one by one"


def _bears(
    section: Section, t: Array, witnesses: NDArray[np.intp], grad_output: float, wanted: list[Array], size: int
) -> bool:
    try:
        # An outer product of all copies may hold the right elements too, and ever more of the wrong ones.
        if section.output_size(t[witnesses]) != size:
            return False
        same = section.forward(np.full(COPIES, t[0]))
        found = _said(section, t, grad_output)
    except FunctionFailed:
        return False
    alike = _agree(section, same, np.full(COPIES, same[0]))
    return (
        alike
        and len(found) == len(wanted)
        and all(_agree(section, a[witnesses], b) for a, b in zip(found, wanted, strict=True))
    )


def _agree(section: Section, found: Array, wanted: Array) -> bool:
    """Equal, but for the last places of the dtype in which vectorised and scalar code may differ."""
    tolerance = LAST_PLACES[section.dtype.itemsize]
    return np.allclose(found, wanted, rtol=tolerance, atol=tolerance * largest(wanted), equal_nan=True)


def _said(section: Section, t: Array, grad_output: float) -> list[Array]:
    """The values and, where backward returns one, the gradients."""
    try:
        returned = section.backward(t, grad_output)
    except FunctionFailed as error:
        if error.failure.phase == "forward":
            raise
        return [section.forward(t)]
    return [returned.values] if returned.grad_input is None else [returned.values, returned.grad_input]
