"""Hypotheses for a backward that is not linear in ``grad_output``: ignored, sign lost, clipped, a term added."""

from __future__ import annotations

import math

import numpy as np

from ...runtime.arrays import Array, Mask, largest_magnitude
from ...runtime.failure import FunctionFailed
from ...runtime.section import Section
from ..curve.evaluation import Evaluation
from ..differentiation.finite_differences import EVIDENCE_BOUNDS
from ..formatting.constants import MOST_DIGITS, format_measured
from ..formatting.numbers import format_number
from ..linearity.violation import Law, describe_violation
from ..sentences.places import MOST_PLACES, describe_point, describe_rows, join_words, runs_among, section_names
from ..tolerance import tolerance_for
from ..verdict.verdict import Verdict
from .evidence import JUDGED_STATUSES, Hypothesis, times_grad_output
from .responses import Responses, collect_responses

# The laws, the gravest first, and what breaking them makes of backward.
_KINDS: dict[Law, str] = {
    "repeats": "random",
    "zero": "added term",
    "odd": "sign of grad_output",
    "scales": "clips",
    "layout": "layout",
    "untouched": "written to",
    "adds": "does not add",
}
# Those of which more can be told than their finding says.
_TOLD: tuple[Law, ...] = ("zero", "odd", "scales")
# Tolerance of an estimated power of grad_output.
_STEADY = 1e-3


def nonlinear(section: Section, evaluation: Evaluation, verdict: Verdict) -> Hypothesis | None:
    """The story of the law of linearity that backward breaks, None if it breaks none."""
    linearity, wrt = evaluation.linearity, section_names(section).wrt
    broken = [finding for finding in map(linearity.at, _KINDS) if finding]
    if not broken:
        return None
    if linearity.breaks(*_TOLD) and not linearity.breaks("repeats"):
        at = JUDGED_STATUSES[verdict.forward.status]
        try:
            answers = collect_responses(section, evaluation, at if at.any() else np.ones_like(at))
        except FunctionFailed:
            raised = next((each for each in broken if each.message), broken[0])
            return "raises", describe_violation(raised, wrt)
        for tell in (_forgotten, _added, _sign, _scale):
            if story := tell(answers):
                return story
    return _KINDS[broken[0].law], describe_violation(broken[0], wrt)


def _forgotten(to: Responses) -> Hypothesis | None:
    """Whether grad_output is ignored: the same is returned for every value of it."""
    if not to.none.any() or not all(to.same(each, to.plain) for each in (to.none, to.opposite, to.larger)):
        return None
    what = "the bare slope of forward, " if to.right(to.plain) else ""
    given = join_words([format_number(each) for each in (0.0, to.base, -to.base, to.factor * to.base)])
    return "grad_output forgotten", f"backward forgets grad_output: it returns {what}the same for grad_output {given}."


def _added(to: Responses) -> Hypothesis | None:
    """Whether a term is added that is returned for grad_output 0 too."""
    more = to.apart(to.none, np.zeros_like(to.none)) & (to.none != 0)
    if not more.any():
        return None
    term = _term(to)
    row = int(np.abs(np.where(more, to.none, 0.0)).argmax())
    what = term or f"{format_number(to.none[row])} at {to.names.wrt} = {describe_point(to.x[row], to.evaluation)}"
    said = f"Even for grad_output 0 backward returns {what}: it adds a term that does not come from the loss"
    rest = ", to what is otherwise the slope of forward" if to.right((to.plain - to.none) / to.base) else ""
    decay = ", as weight decay does" if term and to.names.wrt in term else ""
    return "added term", f"{said}{decay}{rest}."


def _term(to: Responses) -> str:
    """The term that is added, if it is a constant or a multiple of x or y."""
    y = to.evaluation.numerical.values[to.at]
    for called, unit in (("", np.ones_like(y)), (to.names.wrt, to.x), (to.names.of, y)):
        share = float(to.none @ unit / (unit @ unit))
        if np.abs(to.none - share * unit).max() <= to.slack * largest_magnitude(to.none):
            return f"{format_measured(share, to.slack * abs(share))} {called}".rstrip()
    return ""


def _sign(to: Responses) -> Hypothesis | None:
    """Whether the response to −grad_output is not the negative of that to grad_output."""
    differ = to.apart(-to.opposite, to.plain)
    if not differ.any():
        return None
    if to.same(to.opposite, to.plain):
        if (power := _power(to)) is not None:
            return (
                "power of grad_output",
                f"What backward returns grows with grad_output to the power {format_number(power)}.",
            )
        given = [format_number(each) for each in (-to.base, to.base)]
        return "sign of grad_output", (
            f"backward loses the sign of grad_output: for {given[0]} it returns the same as for {given[1]}."
        )
    said = "What backward returns depends on the sign of grad_output"
    rows = np.zeros_like(to.at)
    rows[to.at] = differ
    runs = runs_among(rows, to.at)
    told = [_both(to, run) for run in runs] if to.evaluation.structure == "together" else []
    if told and len(told) <= MOST_PLACES and all(told):
        return "sign of grad_output", f"{said}: {'; '.join(told)}. No function has such a gradient."
    row = int(np.abs(np.where(differ, to.plain + to.opposite, 0.0)).argmax())
    return "sign of grad_output", (
        f"{said}: at {to.names.wrt} = {describe_point(to.x[row], to.evaluation)} it returns "
        f"{format_number(to.plain[row])} for grad_output {format_number(to.base)} and {format_number(to.opposite[row])}"
        f" for {format_number(-to.base)}, which should differ in their sign alone. No function has such a gradient."
    )


def _both(to: Responses, run: tuple[int, int]) -> str:
    """What is returned for either sign on one stretch of rows, empty if that takes more than a word."""
    rows = np.zeros_like(to.at)
    rows[run[0] : run[1] + 1] = True
    here = (rows & to.at)[to.at]
    shares = [_share(to, each[here] / (s * to.base), here) for s, each in ((1, to.plain), (-1, to.opposite))]
    positive, negative = shares if to.base > 0 else shares[::-1]
    if not (positive and negative):
        return ""
    at = describe_rows(rows & to.at, to.at, to.evaluation, to.names)
    return f"{at} it returns {positive} if that is positive and {negative} if it is negative"


def _share(to: Responses, share: Array, here: Mask) -> str:
    if np.ptp(share) <= to.slack * largest_magnitude(share):
        return times_grad_output(format_measured(float(share[0]), to.slack * abs(float(share[0]))))
    error = EVIDENCE_BOUNDS * to.evaluation.numerical.slopes.error[to.at][here]
    off = np.abs(share - to.slope[here]) - error
    return (
        "grad_output times the slope of forward"
        if (off <= tolerance_for(1.0, to.evaluation.dtype).rtol * largest_magnitude(share)).all()
        else ""
    )


def _scale(to: Responses) -> Hypothesis | None:
    """Whether the response is not proportional to grad_output: normalised, clipped, or a power of it."""
    factor = to.factor
    more = to.apart(to.larger / factor, to.plain) | to.apart(to.smaller * factor, to.plain)
    if not more.any():
        return None
    if (power := _power(to)) is not None:
        if power == 0:
            said = "only its sign counts, and for any size of it backward returns the same"
            return "normalises", f"backward normalises grad_output: {said}."
        return (
            "power of grad_output",
            f"What backward returns grows with grad_output to the power {format_number(power)}.",
        )
    if bound := _bound(to, more & (to.larger != 0) & (to.smaller != 0)):
        return "clips", f"backward clips {bound}: for a larger grad_output it returns no more."
    row = int(np.abs(np.where(more, to.larger / factor - to.plain, 0.0)).argmax())
    return "not in proportion", (
        f"What backward returns is not in proportion to grad_output: at {to.names.wrt} = "
        f"{describe_point(to.x[row], to.evaluation)} it returns {format_number(to.plain[row])} for "
        f"{format_number(to.base)}, {format_number(to.larger[row])} for {format_number(factor * to.base)} and "
        f"{format_number(to.smaller[row])} for {format_number(to.base / factor)}."
    )


def _power(to: Responses) -> float | None:
    """The power of grad_output with which all that is returned grows, from the smallest to the largest."""
    some = (to.larger != 0) & (to.smaller != 0)
    if not some.any():
        return None
    steps = np.log(np.abs([to.larger / to.plain, to.plain / to.smaller]))[:, some] / math.log(to.factor)
    power = round(2 * float(steps.mean())) / 2
    return power if np.abs(steps - power).max() < _STEADY and power != 1 else None


def _bound(to: Responses, some: Mask) -> str:
    """The bound at which grad_output, or what is returned, is clipped; empty if neither is."""
    if not some.any():
        return ""
    base, small = abs(to.base), np.abs(to.smaller * to.factor / to.base)[some]
    plain, large = np.abs(to.plain)[some], np.abs(to.larger)[some]
    for what, bounds in (("grad_output", large / small), ("what it returns", large)):
        most = float(bounds[0])
        clipped = np.minimum(base * small, most * small if what == "grad_output" else most)
        sharp = (np.abs(clipped - plain) <= to.slack * largest_magnitude(plain)).all()
        told = format_measured(most, to.slack * most)
        if sharp and np.ptp(bounds) <= to.slack * most and most < to.factor * base and len(told) <= MOST_DIGITS:
            return f"{what} at ±{told}"
    return ""
