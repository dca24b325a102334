"""How a section may be evaluated, found by measurement: all points in one call, or one by one."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from .failure import FunctionFailed
from .section import Array, Section

# Small moves alone are unsound: a top-k mask looks elementwise until a value overtakes another.
REACH = 10.0


def arranged(section: Section) -> Section:
    """The same section, with as many inputs ``stacked`` as the Function bears.

    A copy of the inputs per point is stacked along the first dimension, and both the values and the
    gradients must equal those of one call a point. Tried are all inputs together (elementwise Functions)
    and the swept one alone (rows that do not see each other).
    """
    return replace(section, stacked=_stackable(section))


def structure(section: Section) -> str:
    """How the points of the section are evaluated: ``together`` or ``one by one``."""
    return "together" if section.stacked else "one by one"


@lru_cache(maxsize=512)
def _stackable(section: Section) -> tuple[str, ...]:
    if section.sweeps_parameter:
        return ()
    alone = replace(section, stacked=())
    try:
        t, wanted = _sample(alone)
        size = alone.output_size(t)
    except FunctionFailed:
        return ()
    for names in (tuple(name for name, _ in section.inputs), (section.wrt,)):
        if _same(replace(section, stacked=names), t, wanted, size):
            return names
    return ()


def _sample(section: Section) -> tuple[Array, list[Array]]:
    """Points near and far, out of order, with what the section says of each in a call of its own."""
    low, high = next(each.domain for each in section.op.inputs if each.name == section.wrt)
    middle = (low + high) / 2
    t = section.snap(np.array([middle, high, low, middle + 0.05, low - REACH, high + REACH, middle - 0.3, middle]))
    return t, _both(section, t)


def _both(section: Section, t: Array) -> list[Array]:
    returned = section.backward(t, 1.0)
    return [returned.values] if returned.grad_input is None else [returned.values, returned.grad_input]


def _same(section: Section, t: Array, wanted: list[Array], size: int) -> bool:
    try:
        # An outer product of all copies may hold the right elements too, and ever more of the wrong ones.
        if section.output_size(t) != size:
            return False
        found = _both(section, t)
    except FunctionFailed:
        return False
    # Vectorised and scalar code may differ in the last places of the dtype.
    tolerance = 1e-2 if section.dtype.itemsize < 4 else 1e-5 if section.dtype.itemsize == 4 else 1e-11
    return len(found) == len(wanted) and all(
        a.shape == b.shape and np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
        for a, b in zip(found, wanted, strict=True)
    )
