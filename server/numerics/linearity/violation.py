"""A violation of linearity: which law a backward breaks, with the numbers, and the sentence that says so."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...runtime.arrays import Array
from ...runtime.failure import FunctionFailed
from ...runtime.vjp import MonitoredLayout
from ..formatting.numbers import format_distinct, format_number

Law = Literal["repeats", "untouched", "zero", "scales", "odd", "adds", "mixes", "layout", "batch"]

_CLIPPED = 0.5  # pattern: a result below this fraction of the expected one is called clipped
_LAYOUTS = {
    "expanded": "one number stands for all elements, as after y.sum()",
    "strided": "it is every other element of a longer tensor, as a slice or a column is",
    "transposed": "it is transposed, as after y.T",
}
# What it means that each is broken.
BROKEN_LAWS: dict[Law, str] = {
    "repeats": "the same call returns a different gradient the second time",
    "untouched": "backward changes grad_output, which it was only lent",
    "zero": "a grad_output of 0 does not give a gradient of 0",
    "scales": "twice the grad_output does not give twice the gradient",
    "odd": "the opposite grad_output does not give the opposite gradient",
    "adds": "the gradients of two grad_outputs do not add up",
    "mixes": "the gradient of one element depends on the grad_output of another",
    "layout": "the gradient depends on how grad_output lies in memory",
    "batch": "the gradient depends on the other rows of the batch",
}

# The first clause of a sentence about it, where that does not depend on the numbers.
_FAULTS: dict[Law, str] = {
    "repeats": "backward fails when it is called again",
    "zero": "backward adds a term that does not come from the loss",
    "odd": "backward depends on the sign of grad_output",
    "adds": "backward is not additive: for a sum of grad_outputs it does not return the sum of the gradients",
    "mixes": "the gradient of one element depends on the grad_output of others",
    "batch": "the gradient of one element depends on other elements of the call, although forward does not",
    "scales": "backward fails for some sizes of grad_output",
}


@dataclass(frozen=True)
class Violation:
    """A broken law at its worst point ``x``: the ``returned`` and the ``expected`` gradient for ``grad_output``.

    ``message`` is the exception if backward raised, ``layout`` the memory layout of grad_output where that matters. For
    "untouched", ``returned`` is the content of grad_output afterwards. NaN stands for what is not one number: a
    grad_output that was random over a whole tensor, the result of a backward that raised.
    """

    law: Law
    x: float
    grad_output: float
    returned: float
    expected: float
    message: str = ""
    layout: str = ""


def violation_by_exception(law: Law, error: FunctionFailed, value: float | Array, layout: str = "") -> Violation | None:
    """The finding for a backward that raised where a law was tested; None where forward did, before any law was."""
    if error.failure.phase == "forward":
        return None
    message = f"{error.failure.kind}: {error.failure.message.splitlines()[0]}"
    at = float(value) if np.ndim(value) == 0 else math.nan
    return Violation(law, math.nan, at, math.nan, math.nan, message, layout)


def violation_by_write(layout: MonitoredLayout, x: Array, grad_output: float) -> Violation | None:
    """The finding for a backward that has modified its grad_output in place, None if it has not."""
    if not layout.written:
        return None
    before, after = layout.numbers()
    row = int(np.argmax(np.abs(after - before)))
    x_at = float(x[row]) if before.size == x.size else math.nan
    return Violation("untouched", x_at, grad_output, float(after[row]), float(before[row]))


def describe_violation(finding: Violation, wrt: str = "") -> str:
    """The violation as a sentence; ``wrt`` is the name of the swept element, if the place is to be given."""
    law, number = finding.law, finding.grad_output
    returned = format_distinct(finding.returned, finding.expected)
    expected = format_distinct(finding.expected, finding.returned)
    if law == "untouched":
        before, after = format_number(finding.expected), format_number(finding.returned)
        changed = f": what was {before} is {after} afterwards" if finding.returned != finding.expected else ""
        return f"backward writes to grad_output, which belongs to autograd and may be used elsewhere{changed}."
    given = "a random grad_output" if math.isnan(number) else f"grad_output {format_number(number)}"
    if finding.message:
        return f"{_fault(finding)}: for {given} it raises {finding.message.rstrip('.')}."
    at = f" at {wrt} = {format_number(finding.x)}" if wrt and math.isfinite(finding.x) else ""
    if law == "repeats":
        called = f"called twice with {given}{at}, it returned {expected} and then {returned}"
        return f"backward is not deterministic: {called}."
    link = "instead of" if law in ("layout", "adds", "mixes", "batch") else "where linearity requires"
    wanted = "" if law == "zero" else f" {link} {expected}"
    return f"{_fault(finding)}: for {given}{at} it returns {returned}{wanted}."


def _fault(finding: Violation) -> str:
    """The first clause: what backward does wrong."""
    law, returned = finding.law, finding.returned
    if law == "layout":
        return f"backward assumes a memory layout of grad_output. Where {_LAYOUTS[finding.layout]}"
    if law == "zero" and not math.isfinite(returned):
        return "backward fails for grad_output 0"
    if law != "scales" or finding.message:
        return _FAULTS[law]
    if returned == 0:
        return "backward drops a small grad_output"
    if abs(returned) < _CLIPPED * abs(finding.expected):
        return "backward clips or normalises grad_output"
    return "What backward returns is not in proportion to grad_output"
