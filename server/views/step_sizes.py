"""Step view: the error of finite differences at one x against the step size, and a Taylor test of backward."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from ..numerics.curve.curve import nan_outside_domain
from ..numerics.differentiation.finite_differences import EVIDENCE_BOUNDS
from ..numerics.differentiation.noise import relative_precision
from ..numerics.differentiation.reference import reference_of
from ..numerics.formatting.numbers import format_number
from ..numerics.studies.step_size import BoundedSlope, StepSizeStudy, study_step_size
from ..protocol.question import Question
from ..runtime.batching import batched_section
from ..runtime.failure import Failure, FunctionFailed
from ..runtime.section import Section
from .columns import ColumnArrays, finite_or_none
from .common import question_grid

# Threshold between the orders 1 and 2 of the Taylor remainder: above it the line is a tangent.
_SQUARE = 1.5


def step_sizes_view(section: Section, question: Question) -> tuple[dict[str, Any], ColumnArrays]:
    """The document: one row a step, the widest first; measured in float64, as the numerical gradient is.

    Slopes are those of forward, not multiplied by ``grad_output``; backward's is divided by it. Raises
    ``FunctionFailed``.
    """
    asked = question_grid(question)
    x = np.unique(section.snap(asked.points()))
    reference = reference_of(batched_section(section, x, question.grad_output), x, question.grad_output)
    precision = relative_precision(nan_outside_domain(reference, x), x, reference.forward(x))
    place = float(reference.snap(np.array([question.place]))[0])
    derivative, failure = _derivative(reference, place, question.grad_output or 1.0)
    # Outside the range the Function may raise; inside it, and at the point asked for, it must not.
    forward = nan_outside_domain(reference, np.array([min(x[0], place), max(x[-1], place)]))
    seen = study_step_size(forward, place, asked.span, derivative, precision, question.step)
    return {
        "sentence": _sentence(seen, str(question.wrt), asked.span),
        "at": place,
        "kind": seen.kind,
        "best": {"value": finite_or_none(seen.best.value), "error": finite_or_none(seen.best.error)},
        "analytical": None if derivative is None else finite_or_none(derivative),
        "left": finite_or_none(seen.left.value),
        "right": finite_or_none(seen.right.value),
        "central_order": seen.law.order if seen.law else None,
        "rounding": precision,
        "chosen": list(seen.chosen),
        "least": {"step": seen.least[0], "error": finite_or_none(seen.least[1])} if seen.least else None,
        "taylor_order": seen.taylor_order,
        "failure": asdict(failure) if failure else None,
    }, {
        "step": seen.steps,
        "central": seen.central,
        "left": seen.behind,
        "right": seen.ahead,
        "truncation": seen.truncation,
        "rounding": seen.rounding,
        "taylor": seen.taylor,
    }


def _derivative(section: Section, x: float, grad_output: float) -> tuple[float | None, Failure | None]:
    """The gradient returned at ``x``, per unit of ``grad_output``."""
    try:
        returned = section.backward(np.array([x]), grad_output).grad_input
    except FunctionFailed as error:
        if error.failure.phase == "forward":
            raise
        return None, error.failure
    return (None if returned is None else float(returned[0]) / grad_output), None


def _sentence(seen: StepSizeStudy, wrt: str, span: float) -> str:
    """The slope, the best step or why none works, and the result of the Taylor test."""
    said = _SAY[seen.kind].format(slope=_value(seen.best), left=_value(seen.left), right=_value(seen.right))
    parts = [f"At {wrt} = {format_number(seen.x, span)} {said}", *_least(seen), *_taylor(seen), *_at_a_kink(seen)]
    return " ".join(parts)


_SAY = {
    "smooth": "forward has slope {slope}.",
    "kink": "forward has a kink: its slope is {left} on the left and {right} on the right.",
    "cusp": "forward has a cusp: its slope is {left} on the left and {right} on the right.",
    "jump": "forward jumps, and has no slope: the finer the step, the larger every difference.",
    "pole": "forward grows without bound, and has no slope.",
    "edge": "forward can be followed on one side only: its slope is {left} on the left and {right} on the right.",
    "unresolved": "no step gives a slope to rely on: the differences do not settle.",
    "no value": "forward has no finite value, and so no slope.",
}


def _least(seen: StepSizeStudy) -> list[str]:
    if seen.kind != "smooth" or seen.least is None:
        return []
    step, error = map(format_number, seen.least)
    if seen.law is None:
        return [f"A central difference is off by {error} with step {step}; finer ones lose to rounding."]
    return [
        f"A central difference does best with step {step}, where it is off by {error}:"
        " wider ones cut off what is curved, finer ones lose to rounding."
    ]


def _taylor(seen: StepSizeStudy) -> list[str]:
    """The Taylor test: the order at which forward departs from the line with backward's slope (2 for a tangent)."""
    if seen.derivative is None or seen.taylor_order is None:
        return []
    departs = f"From the line with backward's slope, {format_number(seen.derivative)}, forward departs"
    if seen.taylor_order > _SQUARE:
        return [f"{departs} with the square of the step: that line is its tangent."]
    return [f"{departs} in proportion to the step: that line is not its tangent."]


def _at_a_kink(seen: StepSizeStudy) -> list[str]:
    if seen.kind != "kink" or seen.derivative is None:
        return []
    low, high = sorted((seen.left.value, seen.right.value))
    slack = EVIDENCE_BOUNDS * max(seen.left.error, seen.right.error)
    which = "one of those between, all of which are" if low - slack <= seen.derivative <= high + slack else "neither is"
    return [
        "Central differences find the mean of the two. "
        f"backward returns {format_number(seen.derivative)}, {which} right."
    ]


def _value(slope: BoundedSlope) -> str:
    """A slope as text; 0 if its error is larger than itself."""
    if math.isnan(slope.value):
        return "unknown"
    return format_number(0.0 if abs(slope.value) < slope.error < math.inf else slope.value)
