"""The verdict on a section in one to four plain sentences."""

from __future__ import annotations

import numpy as np

from ..curve.curve import Curve
from ..curve.evaluation import Evaluation
from ..differentiation.finite_differences import PointKind
from ..formatting.numbers import format_distinct, format_number
from ..linearity.violation import describe_violation as law
from ..status import Status
from ..verdict.verdict import Verdict, judged_curve
from .places import Names, describe_finite_range, describe_intervals, describe_point, describe_range, join_words
from .whole_range import whole_range_sentences as beyond

# If fewer of the points are judged, the sentence says how many.
_MOST = 0.9


def verdict_sentence(evaluation: Evaluation, verdict: Verdict, names: Names) -> str:
    """One to four sentences: what was found, where, by how much, and what kinks and jumps have to do with it."""
    parts = _SAY[verdict.word](evaluation, verdict, names)
    if verdict.word.startswith("matches") or verdict.word == "differs":
        parts += _at_kinks(evaluation, verdict) + _at_jumps(evaluation) + _left_out(evaluation, verdict)
        parts += _mirrored(evaluation, names)
    if verdict.word.startswith("matches") and evaluation.wide is not None:
        parts += beyond(evaluation.wide, evaluation.grid, names)
    return " ".join(parts)


def _matches(evaluation: Evaluation, verdict: Verdict, names: Names) -> list[str]:
    said = f"backward returns {names.derivative} {describe_finite_range(evaluation, names)}."
    if evaluation.grad_output == 0:
        return [said, "That is easily said: with grad_output 0 every gradient is 0."]
    if names.claim == "surrogate":
        return [said, "Elsewhere it is meant to follow its surrogate instead."]
    if names.claim == "broken":
        return [said, "What is broken in this specimen no curve can show; its contract does."]
    return [said]


def _matches_here(evaluation: Evaluation, verdict: Verdict, names: Names) -> list[str]:
    said = _matches if verdict.against is verdict.forward else _matches_surrogate
    return said(evaluation, verdict, names)[:1]


def _matches_surrogate(evaluation: Evaluation, verdict: Verdict, names: Names) -> list[str]:
    said = [f"{describe_finite_range(evaluation, names)} it is the derivative of its surrogate, the dotted curve."]
    if verdict.forward.intervals:
        where = describe_intervals(verdict.forward.intervals, evaluation, names)
        said = [f"backward is not {names.derivative} {where}, and is not meant to be: {said[0]}"]
    elif verdict.forward.count(Status.UNDECIDED):
        said = [f"Whether backward is {names.derivative} is undecided, but {said[0]}"]
    else:
        said = [f"For this grad_output backward returns {names.derivative}, and {said[0]}"]
    if evaluation.linearity.breaks("odd") and evaluation.grad_output:
        other = "negative" if evaluation.grad_output > 0 else "positive"
        said.append(f"For {other} grad_output it has another surrogate: flip the sign.")
    elif evaluation.foretold:
        said.append("For a grad_output of another size it has another surrogate.")
    return said


def _differs(evaluation: Evaluation, verdict: Verdict, names: Names) -> list[str]:
    compared, row = verdict.against, verdict.against.worst
    meant, slope = names.derivative, "forward has"
    if compared is not verdict.forward:
        meant, slope = f"{names.derivative}, nor of its surrogate,", "its surrogate has"
    if compared.worst_cell is not None:
        return [f"backward does not return {meant} {_between_points(evaluation, verdict, names)}"]
    if row is None or evaluation.analytical is None:
        return [_out_of_proportion(evaluation, names)]
    curve = judged_curve(evaluation, verdict)
    returned, expected = evaluation.analytical[row], evaluation.grad_output * curve.slopes.value[row]
    factor = "" if evaluation.grad_output == 1 else f" (times grad_output {format_number(evaluation.grad_output)})"
    said = f"backward does not return {meant} {describe_intervals(compared.intervals, evaluation, names)}"
    x = float(evaluation.rows.x[row])
    example = "" if compared.intervals == ((x, x),) else f"at {names.wrt} = {describe_point(x, evaluation)} "
    example += f"it returns {format_distinct(returned, expected)}"
    if curve.slopes.kind[row] == PointKind.KINK:
        if not np.isfinite([curve.slopes.left[row], curve.slopes.right[row]]).all():
            return [f"{said}: {example}, where {slope} a cusp."]
        return [
            f"{said}: {example}, where {slope} a kink, and only slopes {_between(evaluation, curve, row)} are right."
        ]
    return [f"{said}: {example}, where {slope} slope {format_distinct(expected, returned)}{factor}."]


def _between_points(evaluation: Evaluation, verdict: Verdict, names: Names) -> str:
    """What forward rises by, and what backward accounts for, where only the cells between the points tell."""
    curve, cell = judged_curve(evaluation, verdict), verdict.against.worst_cell
    area = evaluation.area_under(curve)
    assert area is not None
    assert cell is not None
    low, high = next(each for each in verdict.against.intervals if each[0] <= area.left[cell] < each[1])
    first, last = np.searchsorted(area.left, (low, high))
    where = f"{describe_point(low, evaluation)} ≤ {names.wrt} ≤ {describe_point(high, evaluation)}"
    risen, accounted = float(area.rise[first:last].sum()), float(area.area[first:last].sum())
    return (
        f"between the points: over {where} {'forward' if curve is evaluation.numerical else 'its surrogate'} rises by "
        f"{format_distinct(risen, accounted)}, and the area under what backward returns is "
        f"{format_distinct(accounted, risen)}."
    )


def _out_of_proportion(evaluation: Evaluation, names: Names) -> str:
    """Which law of linearity backward breaks, where it is right for this ``grad_output``."""
    asked = f"For grad_output {format_number(evaluation.grad_output)} backward returns what it is meant to."
    broken = law(evaluation.linearity.findings[0], names.wrt)
    return f"{asked} But {broken[0].lower()}{broken[1:]}"


def _between(evaluation: Evaluation, curve: Curve, row: int) -> str:
    sides = sorted(evaluation.grad_output * side[row] for side in (curve.slopes.left, curve.slopes.right))
    return f"from {format_number(sides[0])} to {format_number(sides[1])}"


def _undecided(evaluation: Evaluation, verdict: Verdict, names: Names) -> list[str]:
    if evaluation.one_draw:
        return [
            "forward draws random numbers: asked twice, it answers differently, and has no slope to judge by.",
            "The curves show one draw: every point was given the same random numbers.",
            *_of_one_draw(evaluation, verdict, names),
        ]
    if not evaluation.steady:
        return [
            "forward is a game of chance: asked twice, it answers differently, and has no slope to judge by.",
            "No numerical gradient is drawn.",
        ]
    if not np.isfinite(evaluation.forward).any():
        return [f"forward has no finite value on {describe_range(evaluation, names)}. Choose another range."]
    if evaluation.numerical.unseen:
        said = f"On {describe_range(evaluation, names)} forward moves in steps that lie closer together than the points"
        return [f"{said}, so no difference tells its slope from one to the next. Choose a smaller range to see them."]
    said = f"On {describe_range(evaluation, names)} the differences of forward are too uncertain to judge backward by."
    return [said, "The band shows how uncertain."]


def _of_one_draw(evaluation: Evaluation, verdict: Verdict, names: Names) -> list[str]:
    """What backward is to the one draw that is shown."""
    compared = verdict.forward
    if compared.intervals:
        return [
            "Of this draw backward does not return the slope "
            f"{describe_intervals(compared.intervals, evaluation, names)}."
        ]
    return ["Of this draw backward returns the slope."] * bool(compared.count(Status.AGREES))


def _no_gradient(evaluation: Evaluation, verdict: Verdict, names: Names) -> list[str]:
    why = "autograd sees a plain number there" if names.parameter else f"{names.of} is cut off from it"
    said = f"No gradient is returned for {names.wrt}: {why}."
    slopes = evaluation.numerical.slopes.value
    finite = slopes[np.isfinite(slopes)]
    if not finite.any():
        return [said, f"{names.of} does not move with it on {describe_range(evaluation, names)} either."]
    slope = f"{format_number(float(finite.min()))} to {format_number(float(finite.max()))}"
    return [said, f"Yet {names.of} moves with it, with slope {slope} on {describe_range(evaluation, names)}."]


def _failed(evaluation: Evaluation, verdict: Verdict, names: Names) -> list[str]:
    failure = evaluation.failure
    assert failure is not None
    return [failure.first]


_SAY = {
    "matches": _matches,
    "matches its surrogate": _matches_surrogate,
    "matches here": _matches_here,
    "differs": _differs,
    "undecided": _undecided,
    "no gradient": _no_gradient,
    "failed": _failed,
}


def _at_kinks(evaluation: Evaluation, verdict: Verdict) -> list[str]:
    rows = np.flatnonzero(verdict.against.status == Status.SUBGRADIENT)
    if not rows.size or evaluation.analytical is None:
        return []
    if rows.size == 1:
        row = int(rows[0])
        where, returned = describe_point(evaluation.rows.x[row], evaluation), format_number(evaluation.analytical[row])
        right = f"any slope {_between(evaluation, judged_curve(evaluation, verdict), row)} is right there."
        return [f"At the kink at {where} it returns {returned}: {right}"]
    places = join_words(
        [describe_point(x, evaluation) for x in evaluation.rows.x[rows][:4]] + (["others"] if rows.size > 4 else [])
    )
    return [f"At the kinks at {places} it returns a slope between those of the two sides, which is right."]


def _at_jumps(evaluation: Evaluation) -> list[str]:
    places = [describe_point(each.x, evaluation) for each in evaluation.special if each.kind == "jump"]
    if not places:
        return []
    many = [*places[:4], "other places"] if len(places) > 4 else places
    return [f"forward jumps at {join_words(many)}, where it has no slope to compare with."]


def _left_out(evaluation: Evaluation, verdict: Verdict) -> list[str]:
    """How much of the curve the verdict does not speak of."""
    judged = verdict.against.count(Status.AGREES, Status.SUBGRADIENT, Status.DIFFERS)
    at = evaluation.rows
    could = int((np.isfinite(evaluation.forward) & ~at.gap & ~at.below & ~at.above).sum())
    return [f"{judged} of {could} points could be judged."] if judged < _MOST * could else []


def _mirrored(evaluation: Evaluation, names: Names) -> list[str]:
    """That two elements of a symmetric matrix were moved as one."""
    if not evaluation.mirror:
        return []
    matrix = names.wrt.partition("[")[0]
    other = f"{matrix}[{','.join(map(str, evaluation.mirror))}]"
    return [f"forward reads one triangle of {matrix} only: {other} is moved too, and the gradients of both are added."]
