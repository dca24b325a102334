"""Hypotheses on two inputs at once: the gradient of one is the derivative by another, or complex conjugated with it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...runtime.arguments import PARTS
from ...runtime.arrays import EPSILON, Array, evenly_chosen, largest_magnitude
from ...runtime.batching import batched_section
from ...runtime.failure import FunctionFailed
from ...runtime.reference import reference_of
from ...runtime.section import Section
from ...runtime.symmetric_inputs import swept_shape
from ..differentiation.finite_differences import EVIDENCE_BOUNDS, WIDEST_STEP, Ladder
from ..formatting.numbers import format_measured
from ..sampling.grid import FEW_POINTS
from ..sentences.names import complex_part
from ..tolerance import NEARLY_ALL, SMALL
from .evidence import EXCEPTIONS, Evidence
from .stories import Story

_MAX_TOGETHER = 128  # budget: the rows that are looked at where they share a call
# sample: where the other input is swept, beside its value, as shares of that, or of 1 where that is more.
_OFFSETS = np.array([-0.7, -0.3, 0.2, 0.6, 0.9])


def swapped_inputs(data: Evidence) -> Story | None:
    """Hypothesis: the derivative of forward with respect to another input of the same shape."""
    section, grad_output = data.section, data.evaluation.grad_output
    shape = swept_shape(section)
    others = [each.name for each in section.op.inputs if each.name != section.wrt and each.shape == shape]
    rows = np.flatnonzero(data.smooth & np.isfinite(data.returned))
    if not others or data.owner != data.names.forward or not rows.size:
        return None
    limit = _MAX_TOGETHER if data.evaluation.structure == "together" else FEW_POINTS
    rows = evenly_chosen(rows, limit)
    for other in others:
        try:
            slopes = slopes_by(section, other, data.x[rows], grad_output)
            if not same_slopes(data.returned[rows], *slopes, data.precision):
                continue
            both = _is_swapped_back(section, other, data)
        except FunctionFailed:
            continue
        name = other + data.names.wrt[len(section.wrt) :]
        return data.tell("swapped" if both else "of another input", other=name)
    return None


def same_slopes(returned: Array, slope: Array, error: Array, precision: float) -> bool:
    """Whether backward returned these slopes, as far as they are known, and they are known and not all 0."""
    allowed = precision * (np.abs(slope) + min(largest_magnitude(slope), largest_magnitude(returned)))
    fits = np.abs(returned - slope) <= allowed + EVIDENCE_BOUNDS * error
    certain = fits & (EVIDENCE_BOUNDS * error <= allowed + SMALL * np.abs(slope))
    return bool(fits.mean() >= 1 - EXCEPTIONS and certain.mean() >= NEARLY_ALL and (slope != 0).mean() > 0.5)


def _is_swapped_back(section: Section, other: str, data: Evidence) -> bool:
    """Whether the derivative with respect to the swept input is what backward returns for the ``other``."""
    swapped = replace(section.holding(section.wrt, float(np.median(data.x)) + 0.1), wrt=other)
    x = swapped.snap(swapped.held + _OFFSETS * max(1.0, abs(swapped.held)))
    grad_output = data.evaluation.grad_output
    returned = swapped.backward(x, grad_output).grad_input
    if returned is None:
        return False
    return same_slopes(returned / grad_output, *slopes_by(swapped, section.wrt, x, grad_output), data.precision)


def slopes_by(section: Section, other: str, x: Array, grad_output: float) -> tuple[Array, Array]:
    """The slope of forward with respect to the ``other`` input at every ``x`` of the swept one, and its error bound."""
    reference = batched_section(reference_of(section, x, grad_output), x, grad_output)
    held = replace(section, wrt=other).held

    def forward(t: Array) -> Array:
        return np.concatenate([reference.holding(other, value).forward(x) for value in t[:: x.size].tolist()])

    widest = WIDEST_STEP * max(1.0, abs(held))
    value, error, _ = Ladder.around(forward, np.full(x.size, held), widest, 0.0, EPSILON).central()
    return value, error


def conjugate_slope(data: Evidence, factor: float, within: float, rows: str) -> Story | None:
    """The story of a part whose slope comes back times a negative ``factor``, and the other part's times −``factor``.

    ``within`` is how well the factor is known, ``rows`` says where that holds.
    """
    section = data.section
    name, part = complex_part(section.wrt)
    other = name + PARTS[1 - PARTS.index(part)] if part else ""
    places = np.flatnonzero(data.smooth & np.isfinite(data.returned))
    if other not in dict(section.inputs) or data.owner != data.names.forward or not places.size:
        return None
    x = data.x[evenly_chosen(places, FEW_POINTS)]
    grad_output = data.evaluation.grad_output
    try:
        slope, error = slopes_by(section, other, x, grad_output)
        returned = np.array([_returned(section, other, each, grad_output) for each in x.tolist()])
    except FunctionFailed:
        return None
    if not same_slopes(returned / grad_output, -factor * slope, abs(factor) * error, data.precision):
        return None
    # Of an imaginary part grad_output is i, which is not conjugated with the slope.
    across = complex_part(section.of)[1] == PARTS[1]
    times = format_measured(-factor if (part == PARTS[1]) != across else factor, max(within, data.precision))
    times = {"1": "", "−1": "minus "}.get(times, f"{times} times ")
    slope_of = f"the slope, times {data.names.grad_output}," if across else "the slope"
    return data.tell("conjugated", name=name, times=times, slope=slope_of, where=rows)


def _returned(section: Section, other: str, x: float, grad_output: float) -> float:
    """What backward returns for the ``other`` part where the swept one is ``x``."""
    there = replace(section.holding(section.wrt, x), wrt=other).alone()
    found = there.backward(np.array([there.held]), grad_output).grad_input
    return np.nan if found is None else float(found[0])
