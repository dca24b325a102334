"""Batching of a section: whether many points may share one call, found by comparison with witnesses called alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from . import timing
from .arrays import Array, largest_magnitude
from .failure import FunctionFailed
from .section import Section

# The witnesses, points that are also evaluated alone, as fractions of all points: not symmetric, not at the ends.
# For a tensor there are more of them: where elements are masked or cut off, some are right by chance.
WITNESSES = np.array([0.13, 0.41, 0.87])
_MANY_WITNESSES = np.array([0.03, 0.13, 0.19, 0.29, 0.41, 0.52, 0.58, 0.67, 0.74, 0.87, 0.94])
# This many copies of one point must give equal results, whatever their position in the batch.
EQUAL_COPIES = 16
# Golden ratio: sorting by multiples of it modulo 1 shuffles the points so that no neighbours stay neighbours.
GOLDEN_RATIO = (5**0.5 - 1) / 2
# A batched call that takes more seconds than this is compared with the other way to stack.
_SLOW = 0.004
BATCH_TOLERANCE = {8: 1e-11, 4: 1e-5, 2: 1e-2}


def batched_section(section: Section, t: Array, grad_output: float = 1.0) -> Section:
    """The same section, with as many inputs ``stacked`` as the Function supports at the points ``t``.

    One copy of the inputs per point is stacked along the first dimension; the witnesses, shuffled among all other
    points, must then give the values and gradients that they give alone. Tried are all inputs together (elementwise
    Functions) and the swept one alone (independent rows). Where both work and the first is slow, as where each row is
    compared with every row of another input, the faster one is taken.
    """
    alone = replace(section, stacked=())
    if section.sweeps_parameter:
        return alone
    t = t[np.argsort(np.arange(t.size) * GOLDEN_RATIO % 1)]
    witnesses = witness_indices(section, t.size)
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


def witness_indices(section: Section, count: int) -> NDArray[np.intp]:
    """The indices of the witnesses among ``count`` points."""
    single = all(len(values) == 1 for _, values in section.inputs)
    return np.unique(((WITNESSES if single else _MANY_WITNESSES) * count).astype(np.intp))


def section_structure(section: Section) -> str:
    """How the points of the section are evaluated: ``together`` or ``one by one``."""
    return "together" if section.stacked else "one by one"


def _bears(
    section: Section, t: Array, witnesses: NDArray[np.intp], grad_output: float, wanted: list[Array], size: int
) -> bool:
    try:
        # An outer product of all copies contains the right elements too, but has more elements in total.
        if section.output_size(t[witnesses]) != size:
            return False
        same = section.forward(np.full(EQUAL_COPIES, t[0]))
        found = _said(section, t, grad_output)
    except FunctionFailed:
        return False
    alike = _agree(section, same, np.full(EQUAL_COPIES, same[0]))
    return (
        alike
        and len(found) == len(wanted)
        and all(_agree(section, a[witnesses], b) for a, b in zip(found, wanted, strict=True))
    )


def _agree(section: Section, found: Array, wanted: Array) -> bool:
    """Equal but for the last places of the dtype, in which vectorised and scalar code may differ."""
    tolerance = BATCH_TOLERANCE[section.dtype.itemsize]
    return np.allclose(found, wanted, rtol=tolerance, atol=tolerance * largest_magnitude(wanted), equal_nan=True)


def _said(section: Section, t: Array, grad_output: float) -> list[Array]:
    """The values and, if backward returns any, the gradients."""
    try:
        returned = section.backward(t, grad_output)
    except FunctionFailed as error:
        if error.failure.phase == "forward":
            raise
        return [section.forward(t)]
    return [returned.values] if returned.grad_input is None else [returned.values, returned.grad_input]
