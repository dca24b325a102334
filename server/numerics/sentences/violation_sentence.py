"""A violation of linearity as a sentence: which law backward breaks, and with what numbers."""

from __future__ import annotations

import math

from ..formatting.numbers import format_distinct, format_number
from ..linearity.violation import Law, Violation
from .names import Names, capital

# What backward does wrong where it breaks a law.
_FAULTS: dict[Law, str] = {
    "repeats": "{backward} does not return the same twice",
    "untouched": "{backward} writes to {grad_output}, which belongs to autograd and may be used elsewhere",
    "zero": "{backward} does not answer {grad_output} 0 with 0",
    "odd": "{backward} depends on the sign of {grad_output}",
    "scales": "what {backward} returns is not in proportion to {grad_output}",
    "adds": "{backward} is not additive: for a sum of grad_outputs it does not return the sum of the gradients",
    "mixes": "the gradient of one element depends on the {grad_output} of others",
    "layout": "{backward} assumes a memory layout of {grad_output}",
    "batch": "the gradient of one element depends on other elements of the call, although {forward} does not",
}
_LAYOUTS = {
    "expanded": "one number stands for all elements, as after y.sum()",
    "strided": "it is every other element of a longer tensor, as a slice or a column is",
    "transposed": "it is transposed, as after y.T",
}


def name_fault(law: Law, names: Names) -> str:
    """A clause on what a backward that breaks the law does wrong."""
    return names.say(_FAULTS[law])


def describe_violation(finding: Violation, names: Names) -> str:
    """The violation as a sentence, with its place and its numbers."""
    law, number = finding.law, finding.grad_output
    fault = capital(name_fault(law, names))
    if law == "untouched":
        before, after = format_number(finding.expected), format_number(finding.returned)
        return f"{fault}: what was {before} is {after} afterwards." if before != after else f"{fault}."
    given = f"a random {names.grad_output}" if math.isnan(number) else f"{names.grad_output} {format_number(number)}"
    fault += f". Where {_LAYOUTS[finding.layout]}" if law == "layout" else ""
    if finding.message:
        return f"{fault}: for {given} it raises {finding.message}."
    at = f" at {names.wrt} = {format_number(finding.x)}" if math.isfinite(finding.x) else ""
    returned = format_distinct(finding.returned, finding.expected)
    expected = format_distinct(finding.expected, finding.returned)
    if law == "repeats":
        return f"{fault}: called twice with {given}{at}, it returned {expected} and then {returned}."
    link = "instead of" if law in ("layout", "adds", "mixes", "batch") else "where linearity requires"
    wanted = "" if law == "zero" else f" {link} {expected}"
    return f"{fault}: for {given}{at} it returns {returned}{wanted}."
