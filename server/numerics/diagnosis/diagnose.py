"""The diagnosis of a wrong backward: the first hypothesis, from simple to contrived, that fits what it returned."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...runtime.arrays import Array, largest_magnitude
from ..curve.evaluation import Evaluation
from ..formatting.numbers import format_number
from ..sentences.places import describe_intervals
from ..tolerance import SMALL
from ..verdict.verdict import Verdict, judged_curve
from .evidence import Evidence, gather_evidence
from .masked import not_finite, partly_right, reversed_mask, wrong_mask
from .nonlinear import nonlinear
from .offset import added_term, float32_rounding, low_precision
from .scaled import (
    constant_factor,
    constant_response,
    exponential_factor,
    factor_of_x,
    learned_step,
    zero_gradient,
)
from .stories import Story
from .surrogate_shapes import bump, straight_through, window
from .swapped_inputs import swapped_inputs

# From the simplest to the most contrived: the first that fits is reported.
_HYPOTHESES: tuple[Callable[[Evidence], Story | None], ...] = (
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
    exponential_factor,
    factor_of_x,
    learned_step,
    added_term,
    low_precision,
    constant_response,
    partly_right,
)
# Kinds of story about grad_output that may be reported together with one about the slopes.
_COMBINABLE = ("layout", "written to", "does not add")


def diagnose(evaluation: Evaluation, verdict: Verdict) -> Story | None:
    """The simplest story of what backward does wrong, or by design otherwise than forward calls for.

    It fits all rows that could be judged within the tolerance of their dtype, but for 1 % at most, which it names.
    None where there is nothing to explain: backward matches, returns nothing or fails, or too little is known.
    """
    silent = evaluation.analytical is None or evaluation.hurried
    if silent or verdict.word not in ("differs", "matches its surrogate"):
        return None
    with np.errstate(all="ignore"):
        story = nonlinear(evaluation, verdict)
        if story is None or story.kind in _COMBINABLE:
            slope = _slope_hypothesis(evaluation, verdict)
            if story and slope and slope.kind != "unexplained":
                more = f"{slope.sentence[0].lower()}{slope.sentence[1:]}"
                story = Story(story.kind, f"{story.sentence} In addition, {more}")
            story = story or slope
    return story


def _slope_hypothesis(evaluation: Evaluation, verdict: Verdict) -> Story | None:
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
            return data.tell("only in part/between", where=at)
        if verdict.against is verdict.forward:
            return _first_fit(data) or _unexplained(data)
        if explanation := _first_fit(data):
            return explanation
    meant = gather_evidence(evaluation, verdict.forward, evaluation.numerical, verdict.word != "differs")
    return (_first_fit(meant) or _unexplained(meant)) if meant.wrong.any() else None


def _first_fit(data: Evidence) -> Story | None:
    return next((explanation for hypothesis in _HYPOTHESES if (explanation := hypothesis(data))), None)


def _unexplained(data: Evidence) -> Story:
    none = data.tell("another function" if data.designed else "no explanation")[1]
    if data.all_flat:
        return data.tell("unexplained/flat", none=none, factor=_range_text(data.returned[data.wrong]))
    steep = data.wrong & (np.abs(data.slope) >= SMALL * largest_magnitude(data.slope[data.judged])) & data.moving
    if not np.isfinite(data.returned[steep]).any():
        return data.tell("unexplained", none=none)
    share = _range_text((data.returned / data.slope)[steep])
    times = f"it is {share} times the slope of {data.owner}" if data.returned[steep].any() else "it is 0"
    where = "" if (steep == data.wrong).all() else f" and {data.owner} is at least a tenth as steep as anywhere,"
    return data.tell("unexplained/share", none=none, where=where, times=times)


def _range_text(values: Array) -> str:
    """From the least to the largest; in more digits where both would read 1, which is no other share."""
    values = values[np.isfinite(values)]
    ends = float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))
    low, high = (format_number(each) for each in ends)
    if (low, high) == ("1", "1"):
        low, high = (format_number(each, 100 * (ends[1] - ends[0])) for each in ends)
    return low if low == high else f"from {low} to {high}"
