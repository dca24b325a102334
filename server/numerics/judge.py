"""Whether backward and forward tell one story: the verdict on a section."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from .compare import Comparison, Tolerance, compare
from .curve import Curve
from .evaluate import Evaluation
from .noise import largest
from .status import Status

Word = Literal["matches", "matches its surrogate", "differs", "undecided", "no gradient", "failed"]

# Units in the last place, of itself and of the largest slope in sight, that a correct backward may lose,
# by the size of the dtype in bytes: long ones have places to spare.
PLACES = {8: 4096.0, 4: 1024.0, 2: 8.0}
# Beside a pole the steepest percent of the slopes says nothing of the others.
BUT_THE_STEEPEST = 0.99


@dataclass(frozen=True)
class Verdict:
    """``word`` sums up; ``against`` is the comparison it rests on, ``forward`` the one with forward itself."""

    word: Word
    forward: Comparison
    against: Comparison
    tolerance: Tolerance


def judge(evaluation: Evaluation, atol: float | None = None, rtol: float | None = None) -> Verdict:
    """The verdict on a section; tolerances are chosen if None."""
    in_sight = _in_sight(evaluation)
    tolerance = _tolerance(in_sight, evaluation.dtype, atol, rtol)
    forward = compare(evaluation, evaluation.numerical.slopes, tolerance, in_sight)
    if evaluation.failure:
        return Verdict("failed", forward, forward, tolerance)
    if evaluation.analytical is None:
        return Verdict("no gradient", forward, forward, tolerance)
    if not evaluation.steady:
        return Verdict("undecided", forward, forward, tolerance)
    word = _word(forward)
    if word == "matches" or evaluation.surrogate is None:
        return Verdict(_kept(word, evaluation), forward, forward, tolerance)
    surrogate = compare(evaluation, evaluation.surrogate.slopes, tolerance, in_sight)
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


def _tolerance(in_sight: float, dtype: torch.dtype, atol: float | None, rtol: float | None) -> Tolerance:
    """Some last places of the dtype, of the slope itself and of the largest slope in sight."""
    precision = PLACES[dtype.itemsize] * torch.finfo(dtype).eps
    chosen = max(precision * in_sight, torch.finfo(dtype).tiny)
    return Tolerance(
        atol=min(chosen, torch.finfo(torch.float64).max) if atol is None else atol,
        rtol=precision if rtol is None else rtol,
    )


def _in_sight(evaluation: Evaluation) -> float:
    """The largest ``grad_input`` that forward or its surrogate calls for."""
    broken = any(each.kind == "pole" for each in evaluation.special) or not np.isfinite(evaluation.forward).all()
    share = BUT_THE_STEEPEST if broken else 1.0
    steepest = largest(evaluation.numerical.slopes.value, share)
    if evaluation.surrogate is not None:
        steepest = max(steepest, largest(evaluation.surrogate.slopes.value, share))
    return abs(evaluation.grad_output) * steepest


def _word(comparison: Comparison) -> Word:
    if comparison.worst is not None:
        return "differs"
    judged = comparison.count(Status.AGREES, Status.SUBGRADIENT)
    if judged == 0 or comparison.count(Status.UNDECIDED, Status.JUMP, Status.EDGE) > judged:
        return "undecided"
    return "matches"
