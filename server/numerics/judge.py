"""Whether backward and forward tell one story: the verdict on a section."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from .compare import Comparison, compare
from .curve import Curve
from .evaluate import Evaluation
from .status import Status
from .tolerance import Tolerance, chosen

Word = Literal["matches", "matches its surrogate", "differs", "undecided", "no gradient", "failed"]


@dataclass(frozen=True)
class Verdict:
    """``word`` sums up; ``against`` is the comparison it rests on, ``forward`` the one with forward itself."""

    word: Word
    forward: Comparison
    against: Comparison
    tolerance: Tolerance


def judge(evaluation: Evaluation, atol: float | None = None, rtol: float | None = None) -> Verdict:
    """The verdict on a section; tolerances are chosen if None."""
    usual = chosen(evaluation.in_sight, evaluation.dtype)
    tolerance = Tolerance(usual.atol if atol is None else atol, usual.rtol if rtol is None else rtol)
    forward = compare(evaluation, evaluation.numerical, tolerance)
    if evaluation.failure:
        return Verdict("failed", forward, forward, tolerance)
    if evaluation.analytical is None:
        return Verdict("no gradient", forward, forward, tolerance)
    if not evaluation.steady:
        return Verdict("undecided", forward, forward, tolerance)
    word = _word(forward)
    if word == "matches" or evaluation.surrogate is None:
        return Verdict(_kept(word, evaluation), forward, forward, tolerance)
    surrogate = compare(evaluation, evaluation.surrogate, tolerance)
    word = _word(surrogate)
    word = "matches its surrogate" if word == "matches" else word
    return Verdict(_kept(word, evaluation), forward, surrogate, tolerance)


def judged_by(evaluation: Evaluation, verdict: Verdict) -> Curve:
    """The curve whose slopes the verdict rests on: the forward's, or the surrogate's."""
    if verdict.against is verdict.forward or evaluation.surrogate is None:
        return evaluation.numerical
    return evaluation.surrogate


def _kept(word: Word, evaluation: Evaluation) -> Word:
    """The word, unless it holds for this ``grad_output`` only, and no surrogate is said to follow its sign."""
    if evaluation.proportional or evaluation.follows_sign or not word.startswith("matches"):
        return word
    return "differs"


def _word(comparison: Comparison) -> Word:
    if comparison.intervals:
        return "differs"
    return "matches" if _mostly_judged(comparison) else "undecided"


def _mostly_judged(comparison: Comparison) -> bool:
    """Whether most of the points say that backward is right, or most of the cells between them."""
    judged = comparison.count(Status.AGREES, Status.SUBGRADIENT)
    if judged and comparison.count(Status.UNDECIDED, Status.JUMP, Status.EDGE) <= judged:
        return True
    agree = np.count_nonzero(comparison.cells == Status.AGREES)
    return bool(agree > np.count_nonzero(np.isin(comparison.cells, (Status.UNDECIDED, Status.JUMP))))
