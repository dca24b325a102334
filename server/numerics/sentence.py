"""The verdict in words a student understands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .compare import Interval, Status
from .evaluate import Evaluation
from .judge import Verdict, judged_by


@dataclass(frozen=True)
class Names:
    """What the sentence calls things: the swept element, the output element, and the op's claim."""

    wrt: str
    of: str
    claim: str
    follows_sign: bool
    """Whether the surrogate depends on ``grad_output``."""
    parameter: bool = False
    """Whether what is swept is a parameter, not a tensor."""


def sentence(evaluation: Evaluation, verdict: Verdict, names: Names) -> str:
    """One to four sentences: what was found, where, by how much, and what kinks and jumps have to do with it."""
    parts = _SAY[verdict.word](evaluation, verdict, names)
    if verdict.word in ("matches", "matches its surrogate", "differs"):
        parts += _at_kinks(evaluation, verdict) + _at_jumps(evaluation) + _at_gaps(evaluation)
    return " ".join(parts)


def number(value: float) -> str:
    """A number as one writes it: four digits, a true minus sign."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    value += 0.0  # −0 is 0
    return f"{value:.4g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e").replace("-", "−")


def _matches(evaluation: Evaluation, verdict: Verdict, names: Names) -> list[str]:
    said = f"backward returns the derivative of forward on all of {_range(evaluation, names)}."
    if evaluation.grad_output == 0:
        return [said, "That is easily said: with grad_output 0 every gradient is 0."]
    if names.claim == "broken":
        return [said, "This specimen is broken elsewhere: widen the range."]
    if names.claim == "surrogate":
        return [said, "Elsewhere it is meant to follow its surrogate instead."]
    return [said]


def _matches_surrogate(evaluation: Evaluation, verdict: Verdict, names: Names) -> list[str]:
    said = [f"on all of {_range(evaluation, names)} it is the derivative of its surrogate, the dotted curve."]
    if verdict.forward.intervals:
        where = _intervals(verdict.forward.intervals, evaluation, names)
        said = [f"backward is not the derivative of forward {where}, and is not meant to be: {said[0]}"]
    else:
        said = [f"Whether backward is the derivative of forward is undecided, but {said[0]}"]
    if names.follows_sign and evaluation.grad_output:
        other = "negative" if evaluation.grad_output > 0 else "positive"
        said.append(f"For {other} grad_output it has another surrogate: flip the sign.")
    return said


def _differs(evaluation: Evaluation, verdict: Verdict, names: Names) -> list[str]:
    compared = verdict.against
    meant = "the derivative of forward"
    slope = "forward has"
    if verdict.against is not verdict.forward:
        meant, slope = "the derivative of forward, nor of its surrogate,", "its surrogate has"
    said = f"backward does not return {meant} {_intervals(compared.intervals, evaluation, names)}"
    if compared.worst is None or evaluation.analytical is None:
        return [said + "."]
    row = compared.worst
    curve = judged_by(evaluation, verdict)
    returned, expected = evaluation.analytical[row], evaluation.grad_output * curve.slopes.value[row]
    factor = "" if evaluation.grad_output == 1 else f" (times grad_output {number(evaluation.grad_output)})"
    example = f"at {names.wrt} = {number(evaluation.rows.x[row])} it returns {_apart(returned, expected)}"
    return [f"{said}: {example}, where {slope} slope {_apart(expected, returned)}{factor}."]


def _apart(value: float, other: float) -> str:
    """The number, with digits enough to be told from the other."""
    if not (math.isfinite(value) and math.isfinite(other)) or number(value) != number(other):
        return number(value)
    return f"{value:.15g}".replace("-", "−")


def _undecided(evaluation: Evaluation, verdict: Verdict, names: Names) -> list[str]:
    if not np.isfinite(evaluation.forward).any():
        return [f"Undecided: forward has no finite value on {_range(evaluation, names)}. Choose another range."]
    return [
        f"Undecided: on {_range(evaluation, names)} the differences of forward are too uncertain to judge backward by. "
        "The band shows how uncertain."
    ]


def _no_gradient(evaluation: Evaluation, verdict: Verdict, names: Names) -> list[str]:
    why = "autograd sees a plain number there" if names.parameter else f"{names.of} is cut off from it"
    said = f"No gradient is returned for {names.wrt}: {why}."
    slopes = evaluation.numerical.slopes.value
    finite = slopes[np.isfinite(slopes)]
    if not finite.any():
        return [said, f"{names.of} does not move with it on {_range(evaluation, names)} either."]
    reach = f"{number(float(finite.min()))} to {number(float(finite.max()))}"
    return [said, f"Yet {names.of} moves with it, with slope {reach} on {_range(evaluation, names)}."]


def _failed(evaluation: Evaluation, verdict: Verdict, names: Names) -> list[str]:
    failure = evaluation.failure
    assert failure is not None
    return [f"{failure.phase} raised {failure.kind}: {failure.message.splitlines()[0]}"]


_SAY = {
    "matches": _matches,
    "matches its surrogate": _matches_surrogate,
    "differs": _differs,
    "undecided": _undecided,
    "no gradient": _no_gradient,
    "failed": _failed,
}


def _range(evaluation: Evaluation, names: Names) -> str:
    return f"{number(evaluation.grid.start)} ≤ {names.wrt} ≤ {number(evaluation.grid.stop)}"


def _intervals(intervals: Sequence[Interval], evaluation: Evaluation, names: Names) -> str:
    start, stop = evaluation.rows.x[0], evaluation.rows.x[-1]
    said = []
    for low, high in intervals[:3]:
        if low <= start and high >= stop:
            return f"anywhere on {_range(evaluation, names)}"
        if low == high:
            said.append(f"at {names.wrt} = {number(low)}")
        elif low <= start:
            said.append(f"for {names.wrt} < {number(high)}")
        elif high >= stop:
            said.append(f"for {names.wrt} > {number(low)}")
        else:
            said.append(f"for {number(low)} < {names.wrt} < {number(high)}")
    more = len(intervals) - len(said)
    return _listed([*said, f"on {more} more intervals"] if more > 0 else said)


def _at_kinks(evaluation: Evaluation, verdict: Verdict) -> list[str]:
    rows = np.flatnonzero(verdict.against.status == Status.SUBGRADIENT)
    if not rows.size or evaluation.analytical is None:
        return []
    if rows.size == 1:
        row = int(rows[0])
        curve = judged_by(evaluation, verdict)
        sides = sorted(evaluation.grad_output * side[row] for side in (curve.slopes.left, curve.slopes.right))
        return [
            f"At the kink at {number(evaluation.rows.x[row])} it returns {number(evaluation.analytical[row])}: "
            f"any slope from {number(sides[0])} to {number(sides[1])} is right there."
        ]
    places = _listed([number(x) for x in evaluation.rows.x[rows][:4]] + (["others"] if rows.size > 4 else []))
    return [f"At the kinks at {places} it returns a slope between those of the two sides, which is right."]


def _at_jumps(evaluation: Evaluation) -> list[str]:
    places = [number(each.x) for each in evaluation.singularities if each.kind == "jump"]
    if not places:
        return []
    many = [*places[:4], "other places"] if len(places) > 4 else places
    return [f"forward jumps at {_listed(many)}, where it has no slope to compare with."]


def _at_gaps(evaluation: Evaluation) -> list[str]:
    finite = np.isfinite(evaluation.forward) | evaluation.rows.gap
    return [] if finite.all() else ["Where forward is not finite there is nothing to judge."]


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
