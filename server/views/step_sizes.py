"""Step view: the error of finite differences at one x against the step size, and a Taylor test of backward."""

from __future__ import annotations

import math

import numpy as np

from ..numerics.curve.curve import nan_outside_domain
from ..numerics.differentiation.arithmetic import precision_of
from ..numerics.differentiation.finite_differences import EVIDENCE_BOUNDS
from ..numerics.formatting.numbers import format_number
from ..numerics.sentences.names import Names, section_names
from ..numerics.studies.step_size import BoundedSlope, StepSizeStudy, study_step_size
from ..protocol.question import Question
from ..runtime.batching import batched_section
from ..runtime.failure import Failure, unless_backward_fails
from ..runtime.reference import reference_of
from ..runtime.section import Section
from ..schema.section import AskedRecord
from .common import ViewAnswer, question_grid, view_answer

_TANGENT_ORDER = 1.5  # bound: between the orders 1 and 2 of the Taylor remainder: above it the line is a tangent


def step_sizes_view(section: Section, question: Question, asked: AskedRecord) -> ViewAnswer:
    """The document: one row a step, the widest first; measured in float64, as the numerical gradient is.

    Slopes are those of forward, not multiplied by ``grad_output``; backward's is divided by it. Raises
    ``FunctionFailed``.
    """
    grid = question_grid(question)
    x = np.unique(section.snap(grid.points()))
    reference = reference_of(batched_section(section, x, question.grad_output), x, question.grad_output)
    precision = precision_of(reference, nan_outside_domain(reference, x), x, reference.forward(x))
    place = float(reference.snap(np.array([question.place]))[0])
    derivative, failure = _derivative(reference, place, question.grad_output or 1.0)
    # Outside the range the Function may raise; inside it, and at the point asked for, it must not.
    forward = nan_outside_domain(reference, np.array([min(x[0], place), max(x[-1], place)]))
    study = study_step_size(forward, place, grid.span, derivative, precision, question.step)
    return view_answer(
        asked,
        study,
        study.errors,
        sentence=_sentence(study, section_names(section), grid.span),
        left=study.left.value,
        right=study.right.value,
        rounding=precision,
        failure=failure,
    )


def _derivative(section: Section, x: float, grad_output: float) -> tuple[float | None, Failure | None]:
    """The gradient returned at ``x``, per unit of ``grad_output``."""

    def ask() -> float | None:
        returned = section.backward(np.array([x]), grad_output).grad_input
        return None if returned is None else float(returned[0]) / grad_output

    return unless_backward_fails(ask, lambda: None)


def _sentence(study: StepSizeStudy, names: Names, span: float) -> str:
    """The slope, the best step or why none works, and the result of the Taylor test."""
    best, left, right = map(_slope_text, (study.best, study.left, study.right))
    slope = names.say(_SENTENCES[study.kind], slope=best, left=left, right=right)
    at = f"At {names.wrt} = {format_number(study.at, span)}"
    return " ".join([f"{at} {slope}", *_best_step(study), *_taylor(study, names), *_at_a_kink(study, names)])


_SENTENCES = {
    "smooth": "{forward} has slope {slope}.",
    "kink": "{forward} has a kink: its slope is {left} on the left and {right} on the right.",
    "cusp": "{forward} has a cusp: its slope is {left} on the left and {right} on the right.",
    "jump": "{forward} jumps, and has no slope: the finer the step, the larger every difference.",
    "pole": "{forward} grows without bound, and has no slope.",
    "edge": "{forward} is defined on one side only: its slope is {left} on the left and {right} on the right.",
    "unresolved": "no step gives a slope to rely on: the differences do not settle.",
    "no value": "{forward} has no finite value, and so no slope.",
}


def _best_step(study: StepSizeStudy) -> list[str]:
    if study.kind != "smooth" or study.least is None:
        return []
    step, error = format_number(study.least.step), format_number(study.least.error)
    if study.central_order is None:
        return [f"A central difference is off by {error} with step {step}; smaller steps are dominated by rounding."]
    return [
        f"A central difference does best with step {step}, where it is off by {error}:"
        " larger steps miss the curvature, smaller steps are dominated by rounding."
    ]


def _taylor(study: StepSizeStudy, names: Names) -> list[str]:
    """The Taylor test: the order at which forward departs from the line with backward's slope (2 for a tangent)."""
    if study.analytical is None or study.taylor_order is None:
        return []
    departs = f"From the line with {names.backward}'s slope, {format_number(study.analytical)}, {names.forward} departs"
    if study.taylor_order > _TANGENT_ORDER:
        return [f"{departs} with the square of the step: that line is its tangent."]
    return [f"{departs} in proportion to the step: that line is not its tangent."]


def _at_a_kink(study: StepSizeStudy, names: Names) -> list[str]:
    if study.kind != "kink" or study.analytical is None:
        return []
    low, high = sorted((study.left.value, study.right.value))
    slack = EVIDENCE_BOUNDS * max(study.left.error, study.right.error)
    between = low - slack <= study.analytical <= high + slack
    relation = "one of those between, all of which are" if between else "neither is"
    return [
        "Central differences find the mean of the two. "
        f"{names.backward} returns {format_number(study.analytical)}, {relation} right."
    ]


def _slope_text(slope: BoundedSlope) -> str:
    """A slope as text; 0 if its error is larger than itself."""
    if math.isnan(slope.value):
        return "unknown"
    return format_number(0.0 if abs(slope.value) < slope.error < math.inf else slope.value)
