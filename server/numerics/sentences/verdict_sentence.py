"""The verdict on a section in plain sentences, of the visible range and of what lies beyond."""

from __future__ import annotations

import numpy as np

from ...protocol.listed import listed
from ...runtime.arrays import Interval
from ...schema.verdict_words import DESIGNED
from ..curve.curve import Curve
from ..curve.evaluation import Evaluation, difference_at
from ..differentiation.finite_differences import PointKind
from ..formatting.numbers import describe_share, describe_size, format_distinct, format_number, two_digits
from ..linearity.violation import Law
from ..sampling.grid import Grid
from ..status import STATUS_WORDS, Status
from ..verdict.verdict import Verdict, judged_curve
from ..whole_range.check import WholeRangeCheck, outside_view
from .names import MOST_NAMED, Names, capital, element_name
from .places import (
    describe_finite_range,
    describe_intervals,
    describe_point,
    describe_range,
    few_points,
    subgradient_places,
)
from .violation_sentence import describe_violation, name_fault

_ONE_DRAW = "{forward} draws random numbers; this verdict is for one draw, with the same numbers at every point."
_EXPLAINED_LAWS: tuple[Law, ...] = ("repeats", "untouched", "layout", "adds")  # of which the explanation says the rest


def verdict_sentence(evaluation: Evaluation, verdict: Verdict, names: Names) -> str:
    """One to four sentences: what was found, where, by how much, and what kinks and jumps have to do with it."""
    one_draw = evaluation.section.one_draw and not evaluation.failure
    parts = [names.say(_ONE_DRAW)] * one_draw + _SENTENCES[verdict.word](evaluation, verdict, names)
    if verdict.word.startswith("matches") or verdict.word == "differs":
        parts += _at_kinks(evaluation, verdict) + _at_jumps(evaluation, names)
        few = few_points(evaluation, verdict.against)
        parts += [f"{few} could be checked."] * bool(few)
        parts += _remark(evaluation, verdict, names) + _mirrored_element(evaluation, names)
    if verdict.word.startswith("matches") and evaluation.whole_range is not None:
        parts += whole_range_sentences(evaluation.whole_range, evaluation.grid, names)
    if evaluation.hurried:
        parts.append(f"{evaluation.hurried}, so few points were looked at, and only their slopes.")
    return " ".join(map(capital, parts))


def _matches(evaluation: Evaluation, verdict: Verdict, names: Names) -> list[str]:
    if evaluation.grad_output == 0:
        return _nothing_asked(evaluation, names)
    sentence = f"{names.backward} returns {names.derivative} {describe_finite_range(evaluation, names)}."
    if names.claim == "surrogate":
        return [sentence, "Elsewhere it is designed to follow its surrogate."]
    if names.claim == "broken":
        return [sentence, "The bug in this specimen shows in no curve, but in its contract."]
    return [sentence]


def _nothing_asked(evaluation: Evaluation, names: Names) -> list[str]:
    """For a ``grad_output`` of 0."""
    where = describe_finite_range(evaluation, names)
    return [
        f"For {names.grad_output} 0 {names.backward} returns 0 {where}, as it should.",
        "That says little of any other.",
    ]


def _matches_here(evaluation: Evaluation, verdict: Verdict, names: Names) -> list[str]:
    phrase = _matches if verdict.against is verdict.forward else _matches_surrogate
    return phrase(evaluation, verdict, names)[:1]


def _matches_surrogate(evaluation: Evaluation, verdict: Verdict, names: Names) -> list[str]:
    if evaluation.grad_output == 0:
        return _nothing_asked(evaluation, names)
    follows = f"{describe_finite_range(evaluation, names)} it is that of its surrogate, the dotted curve."
    if verdict.forward.intervals:
        where = describe_intervals(verdict.forward.intervals, evaluation, names)
        sentences = [f"{names.backward} is not {names.derivative} {where}, {DESIGNED}: {follows}"]
    elif verdict.forward.count(Status.UNDECIDED):
        sentences = [f"Whether {names.backward} is {names.derivative} is undecided, but {follows}"]
    else:
        sentences = [f"For this {names.grad_output} {names.backward} is {names.derivative}, and {follows}"]
    if evaluation.linearity.breaks("odd"):
        other = "negative" if evaluation.grad_output > 0 else "positive"
        sentences.append(f"For {other} {names.grad_output} it follows a different surrogate: flip the sign to see it.")
    elif evaluation.surrogate_nonlinear:
        size = f"Its surrogate depends on the size of {names.grad_output}"
        sentences.append(f"{size}: what {names.backward} returns is not in proportion to it.")
    return sentences


def _differs(evaluation: Evaluation, verdict: Verdict, names: Names) -> list[str]:
    compared, row = verdict.against, verdict.against.worst
    target, owner = names.derivative, names.forward
    if compared is not verdict.forward:
        target, owner = f"{names.derivative}, nor of its surrogate,", "its surrogate"
    if compared.worst_cell is not None:
        return [f"{names.backward} does not return {target} {_between_points(evaluation, verdict, names)}"]
    if row is None or evaluation.analytical is None:
        return [_nonlinear(evaluation, names)]
    curve = judged_curve(evaluation, verdict)
    returned, expected = evaluation.analytical[row], evaluation.grad_output * curve.slopes.value[row]
    claim = f"{names.backward} does not return {target} {describe_intervals(compared.intervals, evaluation, names)}"
    x = float(evaluation.rows.x[row])
    example = "" if compared.intervals == ((x, x),) else f"at {names.wrt} = {describe_point(x, evaluation)} "
    example += f"it returns {format_distinct(returned, expected)}"
    found = difference_at(evaluation, curve, row)
    size = describe_size(found.off, found.slope, found.nearby)
    if curve.slopes.kind[row] == PointKind.KINK:
        if not np.isfinite([curve.slopes.left[row], curve.slopes.right[row]]).all():
            return [f"{claim}: {example}, where {owner} has a cusp."]
        right = f"{owner} has a kink, and only gradients {_sides(evaluation, curve, row)} are right"
    elif evaluation.grad_output == 1:
        right = f"{owner} has slope {format_distinct(expected, returned)}"
    else:
        right = f"{names.grad_output} times the slope of {owner} is {format_distinct(expected, returned)}"
    return [f"{claim}: {example}, where {right}{size}."]


def _between_points(evaluation: Evaluation, verdict: Verdict, names: Names) -> str:
    """What forward rises by, and what backward accounts for, where only the cells between the points tell."""
    curve, cell = judged_curve(evaluation, verdict), verdict.against.worst_cell
    area = evaluation.area_under(curve)
    assert area is not None
    assert cell is not None
    low, high = next(each for each in verdict.against.intervals if each[0] <= area.left[cell] < each[1])
    first, last = np.searchsorted(area.left, (low, high))
    if not np.isfinite(area.rise[first:last]).all():  # a gap lies among the cells
        first, last, low, high = cell, cell + 1, float(area.left[cell]), float(area.right[cell])
    where = f"{describe_point(low, evaluation)} ≤ {names.wrt} ≤ {describe_point(high, evaluation)}"
    rise, integral = float(area.rise[first:last].sum()), float(area.area[first:last].sum())
    owner = names.forward if curve is evaluation.numerical else "its surrogate"
    return (
        f"between the points: over {where} {owner} "
        f"changes by {format_distinct(rise, integral)}, and the integral of what {names.backward} returns is "
        f"{format_distinct(integral, rise)}{describe_size(abs(rise - integral), rise, of='that change')}."
    )


def _nonlinear(evaluation: Evaluation, names: Names) -> str:
    """Which law of linearity backward breaks, where it is right for this ``grad_output``."""
    right_here = f"For {names.grad_output} {format_number(evaluation.grad_output)} {names.backward} is right."
    finding = evaluation.linearity.findings[0]
    if finding.law in _EXPLAINED_LAWS:
        return f"{right_here} But {name_fault(finding.law, names)}."
    violation = describe_violation(finding, names).removesuffix(".")
    size = describe_size(abs(finding.returned - finding.expected), finding.expected, of="that")
    size = "" if finding.message or finding.law == "zero" else size
    return f"{right_here} But {violation[0].lower()}{violation[1:]}{size}."


def _sides(evaluation: Evaluation, curve: Curve, row: int) -> str:
    """From which gradient to which, of the two sides of a kink."""
    sides = sorted(evaluation.grad_output * side[row] for side in (curve.slopes.left, curve.slopes.right))
    return f"from {format_number(sides[0])} to {format_number(sides[1])}"


def _undecided(evaluation: Evaluation, verdict: Verdict, names: Names) -> list[str]:
    if not (evaluation.deterministic or evaluation.section.one_draw):
        random = "{forward} is random: two equal calls return different values, so there is no slope to compare with."
        return [names.say(random), "No numerical gradient is drawn."]
    if evaluation.section.one_draw and verdict.against.intervals:
        where = describe_intervals(verdict.against.intervals, evaluation, names)
        return [
            f"For this draw {names.backward} does not return the slope {where}.",
            "Whether it does on average is not measured.",
        ]
    if not np.isfinite(evaluation.forward).any():
        return [f"{names.forward} has no finite value on {describe_range(evaluation, names)}. Choose another range."]
    if evaluation.numerical.unseen:
        on = (
            f"On {describe_range(evaluation, names)} {names.forward} has steps that lie closer together than the points"
        )
        return [f"{on}, so no difference resolves its slope. Choose a smaller range to see them."]
    uncertain = names.say("the differences of {forward} are too uncertain to judge {backward} by")
    return [f"On {describe_range(evaluation, names)} {uncertain}.", "The band shows how uncertain."]


def _no_gradient(evaluation: Evaluation, verdict: Verdict, names: Names) -> list[str]:
    why = "autograd sees a plain number there" if names.parameter else f"{names.of} is cut off from it"
    sentence = f"No gradient is returned for {names.wrt}: {why}."
    slopes = evaluation.numerical.slopes.value
    finite = slopes[np.isfinite(slopes)]
    if not finite.any():
        return [sentence, f"{names.of} does not move with it on {describe_range(evaluation, names)} either."]
    slope = f"{format_number(float(finite.min()))} to {format_number(float(finite.max()))}"
    return [sentence, f"Yet {names.of} moves with it, with slope {slope} on {describe_range(evaluation, names)}."]


def _failed(evaluation: Evaluation, verdict: Verdict, names: Names) -> list[str]:
    failure = evaluation.failure
    assert failure is not None
    return [failure.first]


_SENTENCES = {
    "matches": _matches,
    "matches its surrogate": _matches_surrogate,
    "matches here": _matches_here,
    "differs": _differs,
    "undecided": _undecided,
    "no gradient": _no_gradient,
    "failed": _failed,
}


def _remark(evaluation: Evaluation, verdict: Verdict, names: Names) -> list[str]:
    """The largest difference that is a remark, and where."""
    if (found := verdict.against.remark) is None:
        return []
    place, share = describe_point(found.x, evaluation), describe_share(found.off, found.slope, found.nearby)
    return [
        f"It matches up to {two_digits(found.off)}, {share}, at {names.wrt} = {place}: "
        "more than float64 rounding, but within the accuracy of torch's own functions."
    ]


def _at_kinks(evaluation: Evaluation, verdict: Verdict) -> list[str]:
    places, curve = subgradient_places(evaluation, verdict), judged_curve(evaluation, verdict)
    if not places or evaluation.analytical is None or evaluation.grad_output == 0:
        return []
    of = "" if curve is evaluation.numerical else " of its surrogate"
    if len(places) == 1:
        ((place, row),) = places.items()
        right = f"any gradient {_sides(evaluation, curve, row)} is right there."
        return [f"At the kink{of} at {place} it returns {format_number(evaluation.analytical[row])}: {right}"]
    where = _first([*places], "others")
    return [f"At the kinks{of} at {where} it returns a gradient between those of the two sides, which is right."]


def _at_jumps(evaluation: Evaluation, names: Names) -> list[str]:
    places = [describe_point(each.x, evaluation) for each in evaluation.special if each.kind == "jump"]
    if not places:
        return []
    return [f"{names.forward} jumps at {_first(places, 'other places')}, where it has no slope to compare with."]


def _first(places: list[str], others: str) -> str:
    return listed([*places[:MOST_NAMED], others] if len(places) > MOST_NAMED else places)


def _mirrored_element(evaluation: Evaluation, names: Names) -> list[str]:
    """That two elements of a symmetric matrix were moved as one."""
    if not (pair := evaluation.section.also):
        return []
    also = f"{element_name(*pair)} is moved too, and the gradients of both are added"
    return [f"{names.forward} reads one triangle of {pair[0]} only: {also}."]


def whole_range_sentences(wide: WholeRangeCheck, grid: Grid, names: Names) -> list[str]:
    """How far was looked, where backward differs out of sight with an example, and why no farther: 1 to 3 sentences."""
    if not wide.x.size:
        return []
    outside = outside_view(wide, grid)
    parts = [_differs_beyond(wide, outside, grid, names)] if outside else [_agrees_beyond(wide, grid, names)]
    return parts + _end_sentences(wide, names)


def _agrees_beyond(wide: WholeRangeCheck, grid: Grid, names: Names) -> str:
    outside = (wide.x < grid.start) | (wide.x > grid.stop)
    where = "Outside this range" if outside.any() else "Over the whole range of the dtype"
    counts = np.bincount(wide.status[outside] if outside.any() else wide.status, minlength=len(STATUS_WORDS))
    if not counts[Status.AGREES]:
        return f"{where} nothing could be checked."
    right = "follows its surrogate too" if names.claim == "surrogate" else f"agrees with {names.forward}"
    if counts[Status.UNDECIDED]:
        return f"{where} {names.backward} {right} wherever differences of {names.forward} are precise enough."
    extent = "" if any(wide.ends) else ", up to the largest numbers of the dtype"
    return (
        f"{where} {names.backward} {right}{f', wherever {names.forward} is finite' if counts[Status.GAP] else extent}."
    )


def _differs_beyond(wide: WholeRangeCheck, outside: tuple[Interval, ...], grid: Grid, names: Names) -> str:
    intervals = [_interval(wide, each, names) for each in outside[:MOST_NAMED]]
    more = len(outside) - len(intervals)
    where = listed([*intervals, f"on {more} more intervals"] if more else intervals)
    away = np.maximum(grid.start - wide.x, wide.x - grid.stop)
    row = int(np.where((wide.status == Status.DIFFERS) & (away > 0), away, np.inf).argmin())
    returned, right = wide.analytical[row], wide.numerical[row]
    example = f"at {names.wrt} = {format_number(wide.x[row])} it returns {format_distinct(returned, right)}"
    is_right = f"{format_distinct(right, returned)} is right{describe_size(abs(returned - right), right)}"
    example += f", where {f'{names.forward} has a finite slope' if np.isnan(right) else is_right}"
    what = f"rounding takes digits of what {names.backward} returns" if wide.rounded else f"{names.backward} differs"
    return f"Outside this range {what} {where}: {example}."


def _interval(wide: WholeRangeCheck, interval: Interval, names: Names) -> str:
    low, high = interval
    # Where forward is no longer finite, there is no more to be wrong about.
    least, most = wide.finite if np.isfinite(wide.finite).all() else wide.reach
    below, above = low <= max(least, wide.reach[0]), high >= min(most, wide.reach[1])
    if below and above:
        return "everywhere"
    if below:
        return f"for {names.wrt} < {format_number(high)}"
    if above:
        return f"for {names.wrt} > {format_number(low)}"
    return f"for {format_number(low)} < {names.wrt} < {format_number(high)}"


def _end_sentences(wide: WholeRangeCheck, names: Names) -> list[str]:
    low, high = (format_number(float(f"{limit:.3g}")) for limit in wide.reach)  # known to three places
    below, above = ("it takes too long" if why == "slow" else why and f"it raises {why}" for why in wide.ends)
    if below == above and below:
        return [f"Farther out, below {low} and above {high}, {below}."]
    ends = (f"Below {names.wrt} = {low}", below), (f"Above {names.wrt} = {high}", above)
    return [f"{where} {reason}." for where, reason in ends if reason]
