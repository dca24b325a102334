"""The linearity check: which laws of a vector-Jacobian product a backward breaks, and where."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from ...runtime.arrays import Array, largest_magnitude
from ...runtime.batching import batched_section
from ...runtime.failure import FunctionFailed
from ...runtime.section import BackwardResult, Section
from ...runtime.vjp import MonitoredLayout
from .check import KERNEL_TOLERANCE, violation_by_exception
from .pointwise import pointwise_violations
from .tensorwise import tensorwise_violations
from .violation import Law, Violation, describe_violation

__all__ = ["Law", "Linearity", "Violation", "check_linearity", "describe_violation"]
# The most points examined where each needs a call of its own, and the most numbers in one call.
_ALONE = 12
_NUMBERS = 1 << 15
# The laws that a linear backward may seem to break through rounding or underflow.
_ROUNDED_LAWS: tuple[Law, ...] = ("scales", "adds", "mixes")


@dataclass(frozen=True)
class Linearity:
    """The laws of linearity that a backward breaks, each at its worst point; none if it is linear.

    * ``repeats``: a second identical call returns the same, whatever forward was called with in between;
    * ``untouched``: grad_output is not modified;
    * ``zero``: backward(0) = 0;
    * ``scales``: backward(c · g) = c · backward(g);
    * ``odd``: backward(−g) = −backward(g);
    * ``adds``: backward(g + h) = backward(g) + backward(h);
    * ``mixes``: in an elementwise Function, grad_input of one element does not depend on grad_output of the others;
    * ``layout``: the memory layout of grad_output does not matter.
    """

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

    @property
    def forgets(self) -> bool:
        """Whether backward ignores grad_output: it returns the same for all of them, 0 included."""
        same = [self.at("zero"), self.at("scales"), self.at("odd")]
        return all(same) and len({each.returned for each in same if each}) == 1


def check_linearity(section: Section, x: Array, grad_output: float, returned: BackwardResult) -> Linearity:
    """Check the laws on the backward of ``section``, which ``returned`` this for ``grad_output`` at ``x``.

    Each test uses a fresh graph: with all points where they are batched and cheap, else with some. A backward that
    does not repeat itself is not examined further. Violations that rounding in a short dtype may explain count
    only if they occur in double precision too. Nothing is raised.
    """
    if returned.grad_input is None:
        return Linearity()
    found = _examined(section, x, grad_output, returned.grad_input)
    if found.breaks(*_ROUNDED_LAWS) and section.dtype != torch.float64:
        found = found.but(*_ROUNDED_LAWS) if _keeps_in_double(section, x, grad_output) else found
    if found.breaks("mixes"):
        found = found if _apart(section, x) else found.but("mixes")
    return found


def _keeps_in_double(section: Section, x: Array, grad_output: float) -> bool:
    """Whether the laws that rounding can seem to break hold in double precision."""
    double = batched_section(section.at(torch.float64, "cpu"), x, grad_output)
    try:
        returned = double.backward(x, grad_output).grad_input
    except FunctionFailed:
        return False
    return returned is None or not _examined(double, x, grad_output, returned).breaks(*_ROUNDED_LAWS)


def _apart(section: Section, x: Array) -> bool:
    """Whether forward is elementwise over a wider range too, where the points are not nearly equal."""
    centre, reach = (x[0] + x[-1]) / 2, max(float(x[-1] - x[0]), abs(float(x[0] + x[-1])))
    t = np.unique(section.snap(centre + reach * np.linspace(-0.5, 0.5, x.size)))
    return batched_section(section, t).stacked == section.stacked


@np.errstate(all="ignore")
def _examined(section: Section, x: Array, grad_output: float, returned: Array) -> Linearity:
    found: dict[Law, Violation] = {}
    try:
        for finding in filter(None, _findings(section, x, grad_output, returned)):
            if finding.law == "repeats":
                return Linearity((finding,))
            found.setdefault(finding.law, finding)
    except FunctionFailed as error:
        found.setdefault("adds", violation_by_exception("adds", error, math.nan))
    return Linearity(tuple(found.values()))


def _findings(section: Section, x: Array, grad_output: float, returned: Array) -> Iterator[Violation | None]:
    some, base = _some(section, x.size), _base(section, grad_output)
    at, known = x[some], returned[some] if base == grad_output else None
    elsewhere = np.roll(at, at.size // 3) if section.stacked else at[[at.size // 3]]
    watched = MonitoredLayout(lambda: section.forward(elsewhere))
    yield from pointwise_violations(section, at, base, known, watched)
    several = watched.size > (at.size if section.stacked else 1)
    if several or not section.stacked:
        yield from tensorwise_violations(section, x, base, several)


def _base(section: Section, grad_output: float) -> float:
    """``grad_output``, or 1 where it is 0 or too large or small to be scaled further."""
    far = math.sqrt(torch.finfo(section.dtype).max)
    return grad_output if 1 / far < abs(grad_output) < far else 1.0


def _some(section: Section, count: int) -> slice | NDArray[np.intp]:
    """An index of the points to examine: all, or an evenly spaced selection."""
    most = max(_ALONE, _NUMBERS // section.copy_size) if section.stacked else _ALONE
    return slice(None) if count <= most else np.linspace(0, count - 1, most).astype(np.intp)


def above_rounding(found: Linearity, section: Section, returned: BackwardResult, span: float) -> Linearity:
    """The findings above the rounding noise left by cancelling terms of double backward over the ``span``."""
    if returned.grad_input is None:
        return found
    steep = largest_magnitude(returned.values) / span + largest_magnitude(returned.grad_input)
    quiet = KERNEL_TOLERANCE[section.dtype.itemsize] * steep

    def is_heard(each: Violation) -> bool:
        off = abs(each.returned - each.expected)
        return bool(each.message) or not off <= quiet * max(1.0, abs(each.grad_output))

    return Linearity(tuple(each for each in found.findings if each.law == "untouched" or is_heard(each)))
