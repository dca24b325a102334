"""Hypothesis: a gradient by a complex number that is the conjugate of the right one: right by one part, reversed by
the other.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...runtime.arguments import PARTS
from ...runtime.failure import FunctionFailed
from ...runtime.section import Section
from ..formatting.numbers import format_measured
from ..sentences.places import complex_part
from .evidence import Evidence, Hypothesis
from .swapped_inputs import same_slopes, slopes_by

_MAX_ROWS = 12  # budget: the rows at which the other part is looked at


def conjugate_slope(data: Evidence, factor: float, within: float, rows: str) -> Hypothesis | None:
    """The story of a part whose slope comes back times a negative ``factor``, and the other part's times −``factor``.

    ``within`` is how well the factor is known, ``rows`` says where that holds.
    """
    section = data.section
    name, part = complex_part(section.wrt)
    other = name + PARTS[1 - PARTS.index(part)] if part else ""
    places = np.flatnonzero(data.smooth & np.isfinite(data.returned))
    if other not in dict(section.inputs) or data.owner != "forward" or not places.size:
        return None
    x = data.x[places[np.linspace(0, places.size - 1, min(_MAX_ROWS, places.size)).astype(np.intp)]]
    grad_output = data.evaluation.grad_output
    try:
        slope, error = slopes_by(section, other, x, grad_output)
        returned = np.array([_returned(section, other, each, grad_output) for each in x.tolist()])
    except FunctionFailed:
        return None
    if not same_slopes(returned / grad_output, -factor * slope, abs(factor) * error, data.precision):
        return None
    times = format_measured(-factor if part == PARTS[1] else factor, max(within, data.precision))
    times = {"1": "", "−1": "minus "}.get(times, f"{times} times ")
    return "conjugated", (
        f"For {name} backward returns {times}the complex conjugate of the slope {rows}: torch’s convention is "
        "∂L/∂Re z + i ∂L/∂Im z, for a holomorphic f conj(f′) · grad_output."
    )


def _returned(section: Section, other: str, x: float, grad_output: float) -> float:
    """What backward returns for the ``other`` part where the swept one is ``x``."""
    there = replace(section.holding(section.wrt, x), wrt=other).alone()
    found = there.backward(np.array([there.held]), grad_output).grad_input
    return np.nan if found is None else float(found[0])
