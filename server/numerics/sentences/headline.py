"""The verdict in one line: what a student needs to know first, in at most twenty words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ....ops import Op
from ...runtime.arrays import Interval
from ...schema.verdict_words import verdict_name
from ..curve.evaluation import Evaluation
from ..differentiation.finite_differences import PointKind
from ..formatting.numbers import format_distinct, format_number, two_digits
from ..status import Status
from ..verdict.verdict import Verdict, judged_curve
from .names import MOST_NAMED, Names
from .places import (
    describe_meetings,
    describe_point,
    describe_stretch,
    few_points,
    subgradient_places,
    unbroken_stretches,
)
from .violation_sentence import name_fault

MOST_WORDS = 20  # budget: words of a headline
_NOTHING_ASKED = "for grad_output 0 nothing comes back, as it should"


def headline(evaluation: Evaluation, verdict: Verdict, names: Names) -> str:
    """One sentence on the curves, or on what the contract finds where the curves match all the same."""
    op, candidates = evaluation.section.op, _CANDIDATES[verdict.word](evaluation, verdict, names)
    if op.broken and evaluation.section.order == 1 and verdict.word.startswith("matches"):
        candidates = _of_contract(op)
    return next(each for each in candidates if len(each.split()) <= MOST_WORDS)


def _of_contract(specimen: Op) -> Iterator[str]:
    found = specimen.broken.rstrip(".")
    for each in (found, found.split(":")[0], found.split(";")[0]):
        joint = "yet" if " but " in each else "but"
        yield f"The curves match, {joint} {each[:1].lower()}{each[1:]}."
    yield f"The curves match, but the contract finds a fault{f': {specimen.check}' if specimen.check else ''}."


def _matches(evaluation: Evaluation, verdict: Verdict, names: Names) -> Iterator[str]:
    if evaluation.grad_output == 0:
        yield f"Matches, which says little: {_NOTHING_ASKED}."
    draw = " for one random draw" if evaluation.section.one_draw else ""
    if few := few_points(evaluation, verdict.against):
        yield f"Matches{draw} at the {few} that could be judged."
    main = f"Matches{draw}: {names.backward} is {names.derivative}"
    if kinks := len(subgradient_places(evaluation, verdict)):
        yield f"{main}; at {'the kink' if kinks == 1 else f'{kinks} kinks'} it returns a subgradient."
    yield f"{main}."
    yield f"Matches{draw}: {names.backward} is the derivative it should be."


def _matches_here(evaluation: Evaluation, verdict: Verdict, names: Names) -> Iterator[str]:
    what = "Matches" if verdict.against is verdict.forward else "Matches its surrogate"
    if evaluation.whole_range is not None and evaluation.whole_range.rounded:
        yield f"{what} on this range; beyond it rounding takes digits of what {names.backward} returns."
    yield f"{what} on this range, but {names.backward} differs beyond it."


def _matches_surrogate(evaluation: Evaluation, verdict: Verdict, names: Names) -> Iterator[str]:
    differs = verdict_name(verdict.word).capitalize()
    grad_output, one_sided = evaluation.grad_output, evaluation.linearity.breaks("odd")
    sign, other = ("positive", "negative") if grad_output > 0 else ("negative", "positive")
    if grad_output == 0:
        yield f"{differs}, which does not show here: {_NOTHING_ASKED}."
    elif verdict.forward.intervals:
        where = _where(verdict.forward.intervals, evaluation, names)
        follows = "backward follows the dotted surrogate, not forward"
        if one_sided:
            where += f", for a {sign} grad_output"
        if numbers := _numbers_by_design(evaluation, verdict):
            yield f"{differs} {where}: {numbers}."
        yield f"{differs} {where}: {follows}."
        yield f"{differs}: {follows}."
    elif verdict.forward.count(Status.UNDECIDED):
        yield f"{differs}, if at all: backward follows the dotted surrogate; whether forward too is undecided."
    elif one_sided:
        yield f"{differs} for a {other} grad_output: for a {sign} one backward is the derivative of forward."
    else:
        yield f"{differs}, but not for grad_output {format_number(grad_output)}: here it is the derivative of forward."


def _numbers_by_design(evaluation: Evaluation, verdict: Verdict) -> str:
    """What backward returns where it is meant to differ, and what forward calls for, if each is one number."""
    rows, grad_output = verdict.forward.status == Status.DIFFERS, evaluation.grad_output
    if evaluation.analytical is None:
        return ""
    returned, right = evaluation.analytical[rows], grad_output * evaluation.numerical.slopes.value[rows]
    one, other = _one_number(returned), _one_number(right)
    if not (one and other):
        return ""
    if grad_output == 1:
        return f"backward returns {one}, the slope of the dotted surrogate; forward’s slope is {other}"
    return f"backward returns {one}, as the dotted surrogate calls for; forward calls for {other}"


def _one_number(values: np.ndarray) -> str:
    """What is written of the values where that is the same of all; else empty."""
    written = {format_number(float(each)) for each in values}
    return written.pop() if len(written) == 1 else ""


def _differs(evaluation: Evaluation, verdict: Verdict, names: Names) -> Iterator[str]:
    compared, row = verdict.against, verdict.against.worst
    where = _where(compared.intervals, evaluation, names)
    owner = f"{names.forward}’s" if compared is verdict.forward else "its surrogate’s"
    if compared.worst_cell is not None:
        yield f"Differs {where}: the area under {names.backward} is not what {names.forward} rises by."
        yield f"Differs {where}, between the points."
        yield f"Differs between the points: the area under {names.backward} is not what {names.forward} rises by."
        return
    if row is None or evaluation.analytical is None:
        yield f"Differs: {name_fault(evaluation.linearity.findings[0].law, names)}."
        return
    curve = judged_curve(evaluation, verdict)
    right = evaluation.grad_output * curve.slopes.value
    returned, expected = float(evaluation.analytical[row]), float(right[row])
    x = describe_point(float(evaluation.rows.x[row]), evaluation)
    if curve.slopes.kind[row] == PointKind.KINK:
        yield from _differs_at_kink(evaluation, verdict, f"{names.wrt} = {x}", names, returned)
        return
    slope = f"{owner} slope is {format_distinct(expected, returned)}"
    if evaluation.grad_output != 1:
        slope = f"{format_distinct(expected, returned)} is right"
    if format_number(returned) == format_number(expected):
        off = two_digits(abs(returned - expected))
        yield f"Differs {where}: {names.backward} is off by {off}, more than rounding explains."
    numbers = f"{names.backward} returns {format_distinct(returned, expected)}, {slope}"
    rows = compared.status == Status.DIFFERS
    if _one_number(evaluation.analytical[rows]) and _one_number(right[rows]):
        yield f"Differs {where}: {numbers}."
    if compared.intervals != ((float(evaluation.rows.x[row]),) * 2,):
        yield f"Differs {where}: at {names.wrt} = {x} {numbers}."
        yield f"Differs: at {names.wrt} = {x} {numbers}."
    yield f"Differs {where}: {numbers}."
    yield f"Differs {where}."
    yield f"Differs: {names.backward} is not the derivative it should be."


def _differs_at_kink(
    evaluation: Evaluation, verdict: Verdict, place: str, names: Names, returned: float
) -> Iterator[str]:
    slopes, row = judged_curve(evaluation, verdict).slopes, verdict.against.worst
    sides = sorted(float(evaluation.grad_output * side[row]) for side in (slopes.left, slopes.right))
    at = f"Differs at {place}: {names.backward} returns {format_number(returned)}"
    if not np.isfinite(sides).all():
        yield f"{at}, where {names.forward} has a cusp."
    yield f"{at}, but gradients from {format_number(sides[0])} to {format_number(sides[1])} are right."


def _undecided(evaluation: Evaluation, verdict: Verdict, names: Names) -> Iterator[str]:
    if not (evaluation.deterministic or evaluation.section.one_draw):
        yield f"Undecided: {names.forward} answers differently each time, so there is no slope to measure."
    elif evaluation.section.one_draw and verdict.against.intervals:
        yield f"Undecided: {names.forward} is random, and one draw does not tell its average slope."
    elif not np.isfinite(evaluation.forward).any():
        yield f"Undecided: {names.forward} has no finite value on this range."
    elif evaluation.numerical.unseen:
        yield f"Undecided: {names.forward} moves in steps too close together to be seen on this range."
    yield f"Undecided: the differences of {names.forward} are too uncertain to judge {names.backward} by."


def _no_gradient(evaluation: Evaluation, verdict: Verdict, names: Names) -> Iterator[str]:
    slopes = evaluation.numerical.slopes.value
    finite = slopes[np.isfinite(slopes)]
    if finite.any():
        yield f"No gradient comes back for {names.wrt}, although {names.of} moves with it."
    yield f"No gradient comes back for {names.wrt}, and {names.of} does not move with it."


def _unsupported(evaluation: Evaluation, verdict: Verdict, names: Names) -> Iterator[str]:
    yield "No second derivative: backward declares that it cannot be differentiated again."


def _failed(evaluation: Evaluation, verdict: Verdict, names: Names) -> Iterator[str]:
    assert evaluation.failure is not None
    yield f"Fails: {evaluation.failure.brief}."
    yield f"Fails: {evaluation.failure.phase} could not be run; the details say why."


_CANDIDATES = {
    "matches": _matches,
    "matches its surrogate": _matches_surrogate,
    "matches here": _matches_here,
    "differs": _differs,
    "undecided": _undecided,
    "no gradient": _no_gradient,
    "unsupported": _unsupported,
    "failed": _failed,
}


def _where(intervals: Sequence[Interval], evaluation: Evaluation, names: Names) -> str:
    """The stretches as ``where x < −1 or x > 1``, how many where there are more; ``everywhere but at x = 0``."""
    stretches, points = unbroken_stretches(intervals)
    if len(stretches) > MOST_NAMED:
        return f"on {len(stretches)} stretches of this range"
    places = [describe_stretch(each, evaluation, names) for each in stretches]
    where = f"where {' or '.join(places)}" if all(places) else "everywhere"
    if not points:
        return where
    but = "but" if where == "everywhere" else "except"
    return f"{where} {but} {describe_meetings(points, evaluation, names)}"
