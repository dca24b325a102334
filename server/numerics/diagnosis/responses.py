"""The responses of backward to several values of grad_output (opposite, larger, smaller, zero) at the same points."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from ...runtime.arrays import Array, Mask, largest_magnitude
from ...runtime.failure import FunctionFailed
from ...runtime.section import Section
from ..curve.evaluation import Evaluation
from ..differentiation.finite_differences import EVIDENCE_BOUNDS
from ..sentences.places import Names, section_names
from ..tolerance import tolerance_for

# How much larger and smaller grad_output is made, by the size of the dtype, and the last places two answers may differ.
_FACTOR = {8: 1024.0, 4: 1024.0, 2: 16.0}
_PLACES = {8: 64.0, 4: 64.0, 2: 4.0}
# The number of points evaluated where they share a call, and where each needs a call of its own.
_TOGETHER, _ALONE = 1024, 12
# Values that were computed in the same way, but for the order of vectorised code.
_ALIKE = 1e-2
# grad_output itself is the base if it is neither huge nor tiny.
_MIDDLE = (0.03, 1000.0)


@dataclass(frozen=True)
class Responses:
    """What backward returned at the rows ``at`` for grad_output ``base``, −base, factor·base, base/factor and 0."""

    evaluation: Evaluation
    names: Names
    at: Mask
    base: float
    factor: float
    plain: Array
    opposite: Array
    larger: Array
    smaller: Array
    none: Array

    def same(self, some: Array, others: Array) -> bool:
        """Whether two responses are equal within rounding."""
        return bool((~self.apart(some, others)).all())

    def apart(self, some: Array, others: Array) -> Mask:
        """Where two responses differ by more than rounding."""
        slack = self.slack * (np.abs(others) + largest_magnitude(others))
        differ: Mask = np.isfinite(some) & np.isfinite(others) & (np.abs(some - others) > slack)
        return differ

    @cached_property
    def slack(self) -> float:
        """The relative tolerance for two responses."""
        return _PLACES[self.evaluation.dtype.itemsize] * torch.finfo(self.evaluation.dtype).eps

    @property
    def x(self) -> Array:
        """The x of those rows."""
        return self.evaluation.rows.x[self.at]

    @cached_property
    def slope(self) -> Array:
        """The slope of forward there."""
        return self.evaluation.numerical.slopes.value[self.at]

    def right(self, returned: Array) -> bool:
        """Whether these, per grad_output, are the slopes of forward wherever they could be judged."""
        error = self.evaluation.numerical.slopes.error[self.at]
        known = np.isfinite(error) & (error <= 1e-3 * largest_magnitude(self.slope))
        slack = tolerance_for(1.0, self.evaluation.dtype).rtol * largest_magnitude(self.slope) + EVIDENCE_BOUNDS * error
        return bool(known.any() and (np.abs(returned - self.slope) <= slack)[known].all())


def collect_responses(section: Section, evaluation: Evaluation, at: Mask) -> Responses:
    """Call the backward of ``section`` at the rows ``at``, or some of them. Raises ``FunctionFailed``."""
    together = evaluation.structure == "together"
    rows, most = np.flatnonzero(at), _TOGETHER if together else _ALONE
    at = np.zeros_like(at)
    at[rows[np.linspace(0, rows.size - 1, min(most, rows.size)).astype(np.intp)]] = True
    x, grad_output, factor = evaluation.rows.x[at], evaluation.grad_output, _FACTOR[evaluation.dtype.itemsize]
    section = _as_before(section, evaluation, at) if together else section
    base = grad_output if _MIDDLE[0] <= abs(grad_output) <= _MIDDLE[1] else math.copysign(1.0, grad_output)
    answers = []
    for given in (base, -base, factor * base, base / factor, 0.0):
        answer = section.backward(x, given).grad_input
        answers.append(np.zeros_like(x) if answer is None else answer)
    return Responses(evaluation, section_names(section), at, base, factor, *answers)


def _as_before(section: Section, evaluation: Evaluation, at: Mask) -> Section:
    """The section stacked so that it answers as it did when it was evaluated."""
    for names in (tuple(name for name, _ in section.inputs), (section.wrt,)):
        stacked = replace(section, stacked=names)
        try:
            values = stacked.forward(evaluation.rows.x[at])
        except FunctionFailed:
            continue
        if np.allclose(
            values, evaluation.forward[at], rtol=_ALIKE, atol=_ALIKE * largest_magnitude(values), equal_nan=True
        ):
            return stacked
    return section
