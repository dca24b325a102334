"""The linearity check: which laws of a vector-Jacobian product a backward breaks, and where."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from ...runtime.arrays import Array, evenly_chosen, largest_magnitude
from ...runtime.batching import WITNESS_SHARES, Batch, MixedGradient, batched_section
from ...runtime.failure import FunctionFailed
from ...runtime.section import BackwardResult, Section
from ...runtime.vjp import MonitoredLayout
from ..differentiation.arithmetic import function_precision
from ..sampling.grid import FEW_POINTS
from .check import shorter, violations_at_points, violations_in_proportion, violations_of_tensor
from .trial import KERNEL_TOLERANCE
from .violation import Law, Violation, violation_by_exception

_MAX_NUMBERS = 1 << 15  # budget: the most numbers in one call
# The laws that a linear backward may seem to break through rounding or underflow.
_ROUNDED_LAWS: tuple[Law, ...] = ("scales", "adds", "mixes")
# sample: the factors of grad_output at which backward and surrogate are compared.
_FACTORS = (2.0**-8, -(2.0**-8), -1.0, 2.0**8, -(2.0**8))
# bound: the relative tolerance: the surrogate is differentiated in double precision, backward may run in half.
_RTOL = 1e-2


@dataclass(frozen=True)
class Linearity:
    """The laws of linearity that a backward breaks, each at its worst point; none if it is linear."""

    findings: tuple[Violation, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether no law is broken."""
        return not self.findings

    def breaks(self, *laws: Law) -> bool:
        """Whether one of these laws is broken."""
        return any(each.law in laws for each in self.findings)

    def at(self, law: Law) -> Violation | None:
        """The finding for this law, None if it holds."""
        return next((each for each in self.findings if each.law == law), None)

    def but(self, *laws: Law) -> Linearity:
        """The same without the findings of these laws."""
        return Linearity(tuple(each for each in self.findings if each.law not in laws))


def check_linearity(section: Section, x: Array, grad_output: float, returned: BackwardResult) -> Linearity:
    """Check the laws on the backward of ``section``, which ``returned`` this for ``grad_output`` at ``x``.

    Each test uses a fresh graph: with all points where they are batched and cheap, else with some. A backward that
    does not repeat itself is not examined further. Violations that rounding in a short dtype may explain count
    only if they occur in double precision too. Nothing is raised.
    """
    if returned.grad_input is None:
        return Linearity()
    linearity = _check(section, x, grad_output, returned.grad_input, section.dtype)
    # What forward computes in half, backward may, too, and scale it in double precision.
    if linearity.findings and (inside := shorter(section.dtype, function_precision(section))) is not section.dtype:
        linearity = _check(section, x, grad_output, returned.grad_input, inside)
    if linearity.breaks(*_ROUNDED_LAWS) and section.dtype != torch.float64:
        linearity = linearity.but(*_ROUNDED_LAWS) if _holds_in_double(section, x, grad_output) else linearity
    if linearity.breaks("mixes"):
        # Points that are nearly equal make many a forward seem elementwise.
        centre, reach = (x[0] + x[-1]) / 2, max(float(x[-1] - x[0]), abs(float(x[0] + x[-1])))
        spread = np.unique(section.snap(centre + reach * np.linspace(-0.5, 0.5, x.size)))
        elementwise = batched_section(section, spread).stacked == section.stacked
        linearity = linearity if elementwise else linearity.but("mixes")
    return linearity


@np.errstate(all="ignore")
def screened_linearity(
    section: Section,
    x: Array,
    grad_output: float,
    returned: BackwardResult,
    batch: Batch,
    double: Batch,
    monitored: MonitoredLayout,
) -> Linearity | None:
    """The laws broken by what ``returned`` this through ``monitored``, where the ``batch`` tells; None if it does not.

    That is where an elementwise backward returned for all its grad_outputs what it has to after this. ``double`` is
    the section in double precision, with what that returned for ``grad_output``.
    """
    given, again, of_base = batch.given, batch.results, returned.grad_input
    if again is None or given is None or again.grad_input is None or of_base is None:
        return None
    if monitored.size < x.size or monitored.written:
        return None
    found = violations_in_proportion(section, x, grad_output, of_base, given, again.grad_input, double=double)
    return None if found is None else Linearity(tuple(filter(None, found)))


def with_mixed_batch(linearity: Linearity, mixed: MixedGradient | None, grad_output: float) -> Linearity:
    """The same with the finding of a gradient that depends on the other numbers of its call, if it repeats itself."""
    if mixed is None or linearity.breaks("repeats"):
        return linearity
    return Linearity((*linearity.findings, Violation("batch", mixed.x, grad_output, mixed.together, mixed.alone)))


def _holds_in_double(section: Section, x: Array, grad_output: float) -> bool:
    """Whether the laws that rounding can seem to break hold in double precision."""
    double = batched_section(section.at(torch.float64, "cpu"), x, grad_output)
    try:
        returned = double.backward(x, grad_output).grad_input
    except FunctionFailed:
        return False
    return returned is None or not _check(double, x, grad_output, returned, double.dtype).breaks(*_ROUNDED_LAWS)


@np.errstate(all="ignore")
def _check(section: Section, x: Array, grad_output: float, returned: Array, arithmetic: torch.dtype) -> Linearity:
    found: dict[Law, Violation] = {}
    try:
        for finding in filter(None, _violations(section, x, grad_output, returned, arithmetic)):
            if finding.law == "repeats":
                return Linearity((finding,))
            found.setdefault(finding.law, finding)
    except FunctionFailed as error:
        if violation := violation_by_exception("adds", error, math.nan):
            found.setdefault("adds", violation)
    return Linearity(tuple(found.values()))


def _violations(
    section: Section, x: Array, grad_output: float, returned: Array, arithmetic: torch.dtype
) -> Iterator[Violation | None]:
    limit = max(FEW_POINTS, _MAX_NUMBERS // section.copy_size) if section.stacked else FEW_POINTS
    base, rows = _scalable(section, grad_output), evenly_chosen(np.arange(x.size), limit)
    at, known = x[rows], returned[rows] if base == grad_output else None
    other_points = np.roll(at, at.size // 3) if section.stacked else at[[at.size // 3]]
    monitored = MonitoredLayout(lambda: section.forward(other_points))
    yield from violations_at_points(section, at, base, known, monitored, arithmetic)
    several = monitored.size > (at.size if section.stacked else 1)
    if several or not section.stacked:
        yield from violations_of_tensor(section, x, base, several, arithmetic)


def _scalable(section: Section, grad_output: float) -> float:
    """``grad_output``, or 1 where it is 0 or too large or small to be scaled further."""
    far = math.sqrt(torch.finfo(section.dtype).max)
    return grad_output if 1 / far < abs(grad_output) < far else 1.0


def above_rounding(linearity: Linearity, section: Section, returned: BackwardResult, span: float) -> Linearity:
    """The findings above the rounding noise left by cancelling terms of double backward over the ``span``."""
    if returned.grad_input is None:
        return linearity
    steepest = largest_magnitude(returned.values) / span + largest_magnitude(returned.grad_input)
    noise = KERNEL_TOLERANCE[section.dtype.itemsize] * steepest

    def is_heard(each: Violation) -> bool:
        off = abs(each.returned - each.expected)
        return bool(each.message) or not off <= noise * max(1.0, abs(each.grad_output))

    return Linearity(tuple(each for each in linearity.findings if each.law == "untouched" or is_heard(each)))


def surrogate_explains_scaling(section: Section, x: Array, grad_output: float, linearity: Linearity) -> bool:
    """Whether backward breaks ``scales`` just as its surrogate predicts, at grad_outputs of every size.

    The surrogate is differentiated by autograd, at a few of the points ``x``.
    """
    if not (section.op.follows_sign and linearity.breaks("scales")):
        return False
    at, base = x[(WITNESS_SHARES * x.size).astype(np.intp)], _scalable(section, grad_output)
    try:
        return all(_follows_surrogate(section, at, size * base) for size in _FACTORS)
    except FunctionFailed:
        return False


def _follows_surrogate(section: Section, x: Array, grad_output: float) -> bool:
    call = section.op.surrogate_for(section.wrt, grad_output)
    assert call is not None
    expected = section.alone(call=call, dtype=torch.float64, device="cpu").backward(x, grad_output)
    returned = section.backward(x, grad_output)
    if returned.grad_input is None or expected.grad_input is None:
        return False
    return np.allclose(returned.grad_input, expected.grad_input, rtol=_RTOL, atol=0.0)
