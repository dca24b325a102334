"""The verdict on a section: matches, differs, undecided and so on, from the statuses of its points and cells."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...schema.section import VerdictWord
from ..curve.curve import Curve
from ..curve.evaluation import Evaluation
from ..linearity.violation import Law
from ..status import AGREEING, Status
from ..tolerance import Allowance, Allowed, Tolerance
from ..whole_range.check import outside_view, tolerated_range
from .curve_judge import Comparison, judge_curve
from .edges import locate_edges


@dataclass(frozen=True)
class Verdict:
    """``word`` sums up; ``against`` is the comparison it rests on, ``forward`` the one with forward itself."""

    word: VerdictWord
    forward: Comparison
    against: Comparison
    allowed: Allowed

    @property
    def tolerance(self) -> Tolerance:
        """The tolerance at the rows, of which a share may hold."""
        return self.allowed.tolerance


def judge(evaluation: Evaluation, atol: float | None = None, rtol: float | None = None) -> Verdict:
    """The verdict on a section; tolerances are chosen if None."""
    allowance = Allowance(evaluation.section.dtype, atol, rtol)
    allowed = allowance.at_places(evaluation.largest_gradient, evaluation.local_scale, evaluation.precision_loss)
    verdict = _judged_by_rows(evaluation, allowed)
    forward = locate_edges(evaluation, evaluation.numerical, verdict.forward, allowed)
    if verdict.against is verdict.forward:
        return replace(verdict, forward=forward, against=forward)
    curve = judged_curve(evaluation, verdict)
    return replace(verdict, forward=forward, against=locate_edges(evaluation, curve, verdict.against, allowed))


def _judged_by_rows(evaluation: Evaluation, allowed: Allowed) -> Verdict:
    """The verdict with intervals that end at rows."""
    declared = evaluation.surrogate is not None and evaluation.section.order == 1
    forward = judge_curve(evaluation, evaluation.numerical, allowed, closely=not declared)
    if evaluation.failure:
        return Verdict("failed", forward, forward, allowed)
    if evaluation.analytical is None:
        return Verdict("no gradient" if evaluation.section.order == 1 else "unsupported", forward, forward, allowed)
    if not (evaluation.deterministic or evaluation.section.one_draw):
        return Verdict("undecided", forward, forward, allowed)
    word = _word(forward, evaluation)
    # Where it is not linear in grad_output, it is the derivative of forward by chance of this one.
    right = word == "matches" and not (
        evaluation.section.op.follows_sign and evaluation.linearity.breaks("odd", "scales")
    )
    # What an op claims, it claims of its first derivative: a second one that differs is not excused.
    if right or not declared or evaluation.surrogate is None:
        return Verdict(_word_for_all(word, evaluation, allowed.tolerance), forward, forward, allowed)
    surrogate = judge_curve(evaluation, evaluation.surrogate, allowed)
    word = _word(surrogate, evaluation)
    word = "matches its surrogate" if word == "matches" else word
    return Verdict(_word_for_all(word, evaluation, allowed.tolerance), forward, surrogate, allowed)


def judged_curve(evaluation: Evaluation, verdict: Verdict) -> Curve:
    """The curve whose slopes the verdict rests on: the forward's, or the surrogate's."""
    if verdict.against is verdict.forward or evaluation.surrogate is None:
        return evaluation.numerical
    return evaluation.surrogate


def _word_for_all(word: VerdictWord, evaluation: Evaluation, tolerance: Tolerance) -> VerdictWord:
    """The word, unless it holds for this ``grad_output`` only, or for this range only."""
    if not word.startswith("matches"):
        return word
    if not evaluation.linearity.but(*_excused_laws(evaluation)).holds:
        return "differs"
    return "matches here" if _differs_beyond(evaluation, tolerance) else word


def _excused_laws(evaluation: Evaluation) -> tuple[Law, ...]:
    """The laws that need not hold where the surrogate depends on the sign of grad_output, or on its size too."""
    if not evaluation.section.op.follows_sign:
        return ()
    return ("odd", "adds", "scales") if evaluation.surrogate_nonlinear else ("odd", "adds")


def _differs_beyond(evaluation: Evaluation, tolerance: Tolerance) -> bool:
    """Whether backward differs outside of the range by more than is tolerated."""
    wide = evaluation.whole_range
    if wide is None or not wide.intervals:
        return False
    return bool(outside_view(tolerated_range(wide, tolerance), evaluation.grid))


def _word(comparison: Comparison, evaluation: Evaluation) -> VerdictWord:
    if comparison.intervals:
        # What differs from one draw may be right on average, as of stochastic rounding.
        return "undecided" if evaluation.section.one_draw else "differs"
    return "matches" if _mostly_judged(comparison) else "undecided"


def _mostly_judged(comparison: Comparison) -> bool:
    """Whether most of the points say that backward is right, or most of the cells between them."""
    judged = comparison.count(*AGREEING)
    if judged and comparison.count(Status.UNDECIDED, Status.JUMP, Status.EDGE) <= judged:
        return True
    if not judged:  # between its steps a forward may well rise by what backward returns, and have no slope anywhere
        return False
    agree = np.count_nonzero(comparison.cells == Status.AGREES)
    return bool(agree > np.count_nonzero(np.isin(comparison.cells, (Status.UNDECIDED, Status.JUMP))))
