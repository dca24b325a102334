"""Hypotheses for a backward that is not linear in ``grad_output``: ignored, sign lost, clipped, a term added."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from ...protocol.listed import listed
from ...runtime.arrays import Array, Interval, Mask, evenly_chosen, largest_magnitude
from ...runtime.failure import FunctionFailed
from ..curve.evaluation import Evaluation
from ..differentiation.finite_differences import EVIDENCE_BOUNDS
from ..formatting.numbers import MOST_DIGITS, format_measured, format_number
from ..linearity.violation import Law
from ..sampling.grid import FEW_POINTS
from ..sentences.names import MOST_NAMED, Names, section_names
from ..sentences.places import describe_point, describe_rows, runs_among
from ..sentences.violation_sentence import describe_violation
from ..tolerance import NEGLIGIBLE, relative_tolerance
from ..verdict.curve_judge import Comparison
from ..verdict.verdict import Verdict
from .evidence import JUDGED_STATUSES, times
from .stories import Story, tell

# By the size of the dtype in bytes. The factors are powers of two, which change no digit.
_FACTOR = {8: 1024.0, 4: 1024.0, 2: 16.0}  # sample: how many times larger and smaller grad_output is made
_ULPS = {8: 64.0, 4: 64.0, 2: 4.0}  # ulps: the last places by which two answers may differ
_MAX_TOGETHER = 1024  # budget: the number of points evaluated where they share a call
# sample: grad_output itself is the base if its size lies between these, neither huge nor tiny; else ±1 is.
_ORDINARY = (0.03, 1000.0)
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
_EXPLAINED: tuple[Law, ...] = ("zero", "odd", "scales")  # of which more can be told than their finding says


@dataclass(frozen=True)
class Responses:
    """What backward returned at the rows ``at`` for grad_output ``base``, −base, factor·base, base/factor and 0.

    ``differs`` are the intervals in which it is not what forward calls for.
    """

    evaluation: Evaluation
    names: Names
    differs: tuple[Interval, ...]
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
        return _ULPS[self.evaluation.section.dtype.itemsize] * torch.finfo(self.evaluation.section.dtype).eps

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
        largest = largest_magnitude(self.slope)
        known = np.isfinite(error) & (error <= NEGLIGIBLE * largest)
        slack = relative_tolerance(self.evaluation.section.dtype) * largest + EVIDENCE_BOUNDS * error
        return bool(known.any() and (np.abs(returned - self.slope) <= slack)[known].all())


def collect_responses(evaluation: Evaluation, compared: Comparison) -> Responses:
    """Call backward at the rows that were judged, or some of them. Raises ``FunctionFailed``."""
    at = JUDGED_STATUSES[compared.status]
    at = at if at.any() else np.ones_like(at)
    rows, limit = np.flatnonzero(at), _MAX_TOGETHER if evaluation.structure == "together" else FEW_POINTS
    at = np.zeros_like(at)
    at[evenly_chosen(rows, limit)] = True
    section, grad_output, x = evaluation.section, evaluation.grad_output, evaluation.rows.x[at]
    factor = _FACTOR[section.dtype.itemsize]
    base = grad_output if _ORDINARY[0] <= abs(grad_output) <= _ORDINARY[1] else math.copysign(1.0, grad_output)
    answers = [section.gradient(x, value) for value in (base, -base, factor * base, base / factor, 0.0)]
    return Responses(evaluation, section_names(section), compared.intervals, at, base, factor, *answers)


def nonlinear(evaluation: Evaluation, verdict: Verdict) -> Story | None:
    """The story of the law of linearity that backward breaks, None if it breaks none."""
    linearity, names = evaluation.linearity, section_names(evaluation.section)
    broken = [finding for finding in map(linearity.at, _KINDS) if finding]
    if not broken:
        return None
    if linearity.breaks(*_EXPLAINED) and not linearity.breaks("repeats"):
        try:
            responses = collect_responses(evaluation, verdict.forward)
        except FunctionFailed:
            violation = next((each for each in broken if each.message), broken[0])
            return Story("raises", describe_violation(violation, names))
        for hypothesis in (_ignores_grad_output, _adds_term, _depends_on_sign, _not_proportional):
            if explanation := hypothesis(responses):
                return explanation
    return Story(_KINDS[broken[0].law], describe_violation(broken[0], names))


def _ignores_grad_output(to: Responses) -> Story | None:
    """Whether grad_output is ignored: the same is returned for every value of it."""
    if not to.none.any() or not all(to.same(each, to.plain) for each in (to.none, to.opposite, to.larger)):
        return None
    what = f"the bare slope of {to.names.forward}, " if to.right(to.plain) else ""
    given = listed([format_number(each) for each in (0.0, to.base, -to.base, to.factor * to.base)])
    return tell("grad_output forgotten", to.names, what=what, given=given)


def _adds_term(to: Responses) -> Story | None:
    """Whether a term is added that is returned for grad_output 0 too."""
    added = to.apart(to.none, np.zeros_like(to.none)) & (to.none != 0)
    if not added.any():
        return None
    term = _term(to)
    row = int(np.abs(np.where(added, to.none, 0.0)).argmax())
    what = term or f"{format_number(to.none[row])} at {to.names.wrt} = {describe_point(to.x[row], to.evaluation)}"
    slope = f", to what is otherwise the slope of {to.names.forward}"
    rest = slope if to.right((to.plain - to.none) / to.base) else ""
    decay = ", as weight decay does" if term and to.names.wrt in term else ""
    return tell("added term", to.names, term=what, decay=decay, rest=rest)


def _term(to: Responses) -> str:
    """The term that is added, if it is a constant or a multiple of x or y."""
    y = to.evaluation.numerical.values[to.at]
    for called, unit in (("", np.ones_like(y)), (to.names.wrt, to.x), (to.names.of, y)):
        share = float(to.none @ unit / (unit @ unit))
        if np.abs(to.none - share * unit).max() <= to.slack * largest_magnitude(to.none):
            return f"{format_measured(share, to.slack * abs(share))} {called}".rstrip()
    return ""


def _depends_on_sign(to: Responses) -> Story | None:
    """Whether the response to −grad_output is not the negative of that to grad_output."""
    differ = to.apart(-to.opposite, to.plain)
    if not differ.any():
        return None
    if to.same(to.opposite, to.plain):
        if (power := _power(to)) is not None:
            return tell("power of grad_output", to.names, power=format_number(power))
        one, other = format_number(-to.base), format_number(to.base)
        return tell("sign of grad_output/lost", to.names, one=one, other=other)
    rows = np.zeros_like(to.at)
    rows[to.at] = differ
    runs = runs_among(rows, to.at)
    phrases = [_answers_by_sign(to, run) for run in runs] if to.evaluation.structure == "together" else []
    if phrases and len(phrases) <= MOST_NAMED and all(phrases):
        return tell("sign of grad_output", to.names, how="; ".join(phrases))
    row = int(np.abs(np.where(differ, to.plain + to.opposite, 0.0)).argmax())
    how = (
        f"at {to.names.wrt} = {describe_point(to.x[row], to.evaluation)} it returns {format_number(to.plain[row])} for "
        f"{to.names.grad_output} {format_number(to.base)} and {format_number(to.opposite[row])} for "
        f"{format_number(-to.base)}, which should differ in their sign alone"
    )
    return tell("sign of grad_output", to.names, how=how)


def _answers_by_sign(to: Responses, run: tuple[int, int]) -> str:
    """What is returned for either sign on one stretch of rows, empty if that takes more than a word."""
    rows = np.zeros_like(to.at)
    rows[run[0] : run[1] + 1] = True
    here = (rows & to.at)[to.at]
    shares = [_answer(to, each[here] / (s * to.base), here) for s, each in ((1, to.plain), (-1, to.opposite))]
    positive, negative = shares if to.base > 0 else shares[::-1]
    if not (positive and negative):
        return ""
    at = describe_rows(rows & to.at, to.at, to.evaluation, to.names, to.differs)
    return f"{at} it returns {positive} if that is positive and {negative} if it is negative"


def _answer(to: Responses, share: Array, here: Mask) -> str:
    if np.ptp(share) <= to.slack * largest_magnitude(share):
        return times(format_measured(float(share[0]), to.slack * abs(float(share[0]))), to.names)
    error = EVIDENCE_BOUNDS * to.evaluation.numerical.slopes.error[to.at][here]
    off = np.abs(share - to.slope[here]) - error
    allowed = relative_tolerance(to.evaluation.section.dtype) * largest_magnitude(share)
    return f"{to.names.grad_output} times the slope of {to.names.forward}" if (off <= allowed).all() else ""


def _not_proportional(to: Responses) -> Story | None:
    """Whether the response is not proportional to grad_output: normalised, clipped, or a power of it."""
    factor = to.factor
    differ = to.apart(to.larger / factor, to.plain) | to.apart(to.smaller * factor, to.plain)
    if not differ.any():
        return None
    if (power := _power(to)) is not None:
        return tell("power of grad_output" if power else "normalises", to.names, power=format_number(power))
    if clipped := _clipping_bound(to, differ & (to.larger != 0) & (to.smaller != 0)):
        return tell("clips", to.names, what=clipped[0], bound=clipped[1])
    row = int(np.abs(np.where(differ, to.larger / factor - to.plain, 0.0)).argmax())
    numbers = {"plain": to.plain[row], "larger": to.larger[row], "smaller": to.smaller[row]}
    numbers |= {"one": to.base, "large": factor * to.base, "small": to.base / factor}
    written = {name: format_number(float(number)) for name, number in numbers.items()}
    return tell("not in proportion", to.names, x=describe_point(to.x[row], to.evaluation), **written)


def _power(to: Responses) -> float | None:
    """The power of grad_output with which all that is returned grows, from the smallest to the largest."""
    some = (to.larger != 0) & (to.smaller != 0)
    if not some.any():
        return None
    steps = np.log(np.abs([to.larger / to.plain, to.plain / to.smaller]))[:, some] / math.log(to.factor)
    if not np.isfinite(steps).all():
        return None
    power = round(2 * float(steps.mean())) / 2
    return power if np.abs(steps - power).max() < NEGLIGIBLE and power != 1 else None


def _clipping_bound(to: Responses, some: Mask) -> tuple[str, str] | None:
    """What is clipped, grad_output or what is returned, and the bound of that; None if neither is."""
    if not some.any():
        return None
    base, small = abs(to.base), np.abs(to.smaller * to.factor / to.base)[some]
    plain, large = np.abs(to.plain)[some], np.abs(to.larger)[some]
    for what, bounds in ((to.names.grad_output, large / small), ("what it returns", large)):
        bound = float(bounds[0])
        clipped = np.minimum(base * small, bound * small if what == to.names.grad_output else bound)
        sharp = (np.abs(clipped - plain) <= to.slack * largest_magnitude(plain)).all()
        text = format_measured(bound, to.slack * bound)
        if sharp and np.ptp(bounds) <= to.slack * bound and bound < to.factor * base and len(text) <= MOST_DIGITS:
            return what, text
    return None
