"""Batching of a plane: all points in one call, line by line, or one by one, found by comparison with witnesses."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from .arrays import Array, largest_magnitude
from .batching import BATCH_TOLERANCE, EQUAL_COPIES, GOLDEN_RATIO, batched_section, witness_indices
from .failure import FunctionFailed
from .plane import Plane
from .section import Section


def batched_plane(along: Section, across: Section, x: Array, y: Array, grad_output: float) -> Plane:
    """The plane of two sections, with as many inputs ``stacked`` as the Function supports at the points ``x`` × ``y``.

    In a shuffled batch of all points the witnesses must give the results that they give alone. Tried are all inputs
    together (elementwise Functions) and the swept ones alone (independent rows), along their first dimension and along
    a new one; after that each section by itself.
    """
    alone = Plane(replace(along, stacked=()), replace(across, stacked=()))
    if not (along.sweeps_parameter or across.sweeps_parameter):
        s, t = (each.ravel() for each in np.meshgrid(x, y))
        order = np.argsort(np.arange(s.size) * GOLDEN_RATIO % 1)
        s, t = s[order], t[order]
        every, swept = (name for name, _ in along.inputs), dict.fromkeys((along.wrt, across.wrt))
        for above, names in product((False, True), dict.fromkeys((tuple(every), tuple(swept)))):
            together = replace(alone, stacked=names, above=above)
            if _bears(together, alone, s, t, grad_output):
                return together
    return Plane(batched_section(along, x, grad_output), batched_section(across, y, grad_output))


def plane_structure(plane: Plane) -> str:
    """How the points of the plane are evaluated: ``together``, ``line by line`` or ``one by one``."""
    if plane.stacked:
        return "together"
    by_line = [each for each in (plane.along, plane.across) if not each.sweeps_parameter]
    return "line by line" if by_line and all(each.stacked for each in by_line) else "one by one"


def _bears(together: Plane, alone: Plane, s: Array, t: Array, grad_output: float) -> bool:
    witnesses = witness_indices(alone.along, s.size)
    try:
        wanted = _said(alone, s[witnesses], t[witnesses], grad_output)
        size = witnesses.size * alone.along.output_size(s[witnesses[:1]])
        # An outer product of all copies contains the right elements too, but has more elements in total.
        if together.output_size(s[witnesses], t[witnesses]) != size:
            return False
        same = together.forward(np.full(EQUAL_COPIES, s[0]), np.full(EQUAL_COPIES, t[0]))
        found = _said(together, s, t, grad_output)
    except FunctionFailed:
        return False
    section = together.along
    return _agree(section, same, np.full(EQUAL_COPIES, same[0]), slice(None)) and all(
        _agree(section, a, b, witnesses) for a, b in zip(found, wanted, strict=True)
    )


def _agree(section: Section, found: Array | None, wanted: Array | None, at: NDArray[np.intp] | slice) -> bool:
    """Equal but for the last places of the dtype, in which vectorised and scalar code may differ."""
    if found is None or wanted is None:
        return found is wanted
    tolerance = BATCH_TOLERANCE[section.dtype.itemsize]
    return np.allclose(found[at], wanted, rtol=tolerance, atol=tolerance * largest_magnitude(wanted), equal_nan=True)


def _said(plane: Plane, s: Array, t: Array, grad_output: float) -> tuple[Array | None, ...]:
    """The values and, if backward returns any, the gradients."""
    try:
        field = plane.backward(s, t, grad_output)
    except FunctionFailed as error:
        if error.failure.phase == "forward":
            raise
        return (plane.forward(s, t), None, None)
    return field.values, *field.both
