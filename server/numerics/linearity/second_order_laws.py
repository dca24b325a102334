"""The laws of linearity for double backward, which autograd writes as a sum of terms that may cancel out."""

from __future__ import annotations

from ...runtime.arrays import largest
from ...runtime.returned import Returned
from ...runtime.section import Section
from .check import ROUNDED
from .laws import Linearity
from .violation import Finding


def heard(found: Linearity, section: Section, returned: Returned, span: float) -> Linearity:
    """The findings that are louder than what is left of terms as steep as grad_input is over the ``span``."""
    if returned.grad_input is None:
        return found
    steep = largest(returned.values) / span + largest(returned.grad_input)
    quiet = ROUNDED[section.dtype.itemsize] * steep

    def is_heard(each: Finding) -> bool:
        off = abs(each.returned - each.expected)
        return bool(each.message) or not off <= quiet * max(1.0, abs(each.grad_output))

    return Linearity(tuple(each for each in found.findings if each.law == "untouched" or is_heard(each)))
