"""The diagnosis of a wrong backward: the first hypothesis, from simple to contrived, that fits what it returned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...runtime.arrays import Array, largest_magnitude
from ..curve.evaluation import Evaluation
from ..formatting.numbers import format_number
from ..sentences.places import describe_intervals
from ..verdict.verdict import Verdict, judged_curve
from .evidence import Evidence, Hypothesis, gather_evidence
from .masked import not_finite, partly_right, reversed_mask, wrong_mask
from .nonlinear import nonlinear
from .offset import added_term, float32_rounding, low_precision
from .scaled import (
    bare_exponential,
    constant_factor,
    constant_response,
    exponential_factor,
    factor_of_x,
    learned_step,
    zero_gradient,
)
from .surrogate_shapes import bump, straight_through, window
from .swapped_inputs import swapped_inputs

_MIN_SLOPE = 0.1  # pattern: ratios to slopes below this share of the largest are not told, and that is said
# From the simplest to the most contrived: the first that fits is reported.
_HYPOTHESES: tuple[Callable[[Evidence], Hypothesis | None], ...] = (
    not_finite,
    zero_gradient,
    float32_rounding,
    constant_factor,
    straight_through,
    window,
    bump,
    wrong_mask,
    reversed_mask,
    swapped_inputs,
    bare_exponential,
    factor_of_x,
    exponential_factor,
    learned_step,
    added_term,
    low_precision,
    constant_response,
    partly_right,
)
_NO_EXPLANATION = (
    "No simple explanation was found: what backward returns is no multiple of the slope, no mask and no window"
)
_ANOTHER_FUNCTION = "What backward returns is the slope of another function, the surrogate that is declared"
# Kinds of story about grad_output that may be reported together with one about the slopes.
_COMBINABLE = ("layout", "written to", "does not add")


@dataclass(frozen=True)
class Diagnosis:
    """Why backward differs: the ``kind`` of story in a word or two, and the story in a sentence or two."""

    kind: str
    sentence: str


def diagnose(evaluation: Evaluation, verdict: Verdict) -> Diagnosis | None:
    """The simplest story of what backward does wrong, or by design otherwise than forward calls for.

    It fits all rows that could be judged within the tolerance of their dtype, but for 1 % at most, which it names.
    None where there is nothing to explain: backward matches, returns nothing or fails, or too little is known.
    """
    silent = evaluation.analytical is None or evaluation.hurried
    if silent or verdict.word not in ("differs", "matches its surrogate"):
        return None
    with np.errstate(all="ignore"):
        story = nonlinear(evaluation, verdict)
        if story is None or story[0] in _COMBINABLE:
            slope = _slope_hypothesis(evaluation, verdict)
            if story and slope and slope[0] != "unexplained":
                story = story[0], f"{story[1]} In addition, {slope[1][0].lower()}{slope[1][1:]}"
            story = story or slope
    return Diagnosis(*story) if story else None


def _slope_hypothesis(evaluation: Evaluation, verdict: Verdict) -> Hypothesis | None:
    """What backward returned, beside the slopes that it is judged by, or else beside those of forward."""
    if not evaluation.grad_output:
        return None
    if verdict.word == "differs":
        curve = judged_curve(evaluation, verdict)
        data = gather_evidence(evaluation, verdict.against, curve, False)
        if not data.wrong.any():
            if not verdict.against.intervals:
                return None
            at = describe_intervals(verdict.against.intervals, evaluation, data.names)
            return "only in part", f"backward is right at every point that was judged, and wrong between them {at}."
        if verdict.against is verdict.forward:
            return _first_fit(data) or _unexplained(data)
        if explanation := _first_fit(data):
            return explanation
    meant = gather_evidence(evaluation, verdict.forward, evaluation.numerical, verdict.word != "differs")
    return (_first_fit(meant) or _unexplained(meant)) if meant.wrong.any() else None


def _first_fit(data: Evidence) -> Hypothesis | None:
    return next((explanation for hypothesis in _HYPOTHESES if (explanation := hypothesis(data))), None)


def _unexplained(data: Evidence) -> Hypothesis:
    sentence = _ANOTHER_FUNCTION if data.designed else _NO_EXPLANATION
    if data.all_flat:
        returned = _range_text(data.returned[data.wrong])
        return "unexplained", f"{sentence}. {data.owner} is flat; backward returns {returned} times grad_output."
    steep = data.wrong & (np.abs(data.slope) >= _MIN_SLOPE * largest_magnitude(data.slope[data.judged])) & data.moving
    if not np.isfinite(data.returned[steep]).any():
        return "unexplained", f"{sentence}."
    share = _range_text((data.returned / data.slope)[steep])
    times = f"it is {share} times the slope of {data.owner}" if data.returned[steep].any() else "it is 0"
    where = "" if (steep == data.wrong).all() else f" and {data.owner} is at least a tenth as steep as anywhere,"
    return "unexplained", f"{sentence}. Where the two differ{where} {times}."


def _range_text(values: Array) -> str:
    values = values[np.isfinite(values)]
    low, high = format_number(float(values.min(initial=np.inf))), format_number(float(values.max(initial=-np.inf)))
    return low if low == high else f"from {low} to {high}"
