"""The verdict on a second derivative in words, and why double backward differs or fails."""

from __future__ import annotations

import re

import numpy as np

from ...runtime.section import Section
from ..curve.evaluation import Evaluation
from ..diagnosis.diagnose import Diagnosis, diagnose
from ..formatting.numbers import format_distinct, format_number
from ..sentences.places import Names, describe_intervals, describe_point, describe_range, join_words
from ..sentences.verdict import verdict_sentence
from ..verdict.verdict import Verdict, VerdictWord
from .saved_intermediates import UNNAMED_TENSOR, saved_intermediates

_WORDS = re.compile(r"(?<!double )\b(forward|backward)\b|(?<!its own )\bgrad_output\b", re.ASCII)
# What follows this word is quoted from the Function's exception.
_QUOTED = " raised "


def one_derivative_further(sentence: str, grad_input: str) -> str:
    """The same sentence one derivative further on, where ``grad_input`` (as ``grad_x[0,1]``) stands for forward.

    What a Function said when it raised stays as it is.
    """
    ours, raised, theirs = sentence.partition(_QUOTED)
    words = {"forward": grad_input, "backward": "double backward", "grad_output": "its own grad_output"}
    said = _WORDS.sub(lambda found: words[found[0]], ours) + raised + theirs
    return f"D{said[1:]}" if said.startswith("double") else said


_INSTEAD = "recompute it there from the inputs that were saved, or declare @once_differentiable"


def second_order_sentence(evaluation: Evaluation, verdict: Verdict, names: Names, first: VerdictWord) -> str:
    """What was found of double backward; ``first`` is the word on the first derivative, ``names.of`` grad_input's."""
    if verdict.word == "unsupported":
        return _unsupported(evaluation, names)
    if verdict.word == "differs" and _silent(evaluation):
        found = _silent_zero(evaluation, verdict, names)
    else:
        found = one_derivative_further(verdict_sentence(evaluation, verdict, names), names.of)
    if verdict.word == "differs":
        return _not_first(found, first)
    return " ".join((found, *_beside(evaluation, verdict, names, first)))


def explain_second_order(
    section: Section, first: Section, evaluation: Evaluation, verdict: Verdict, names: Names
) -> Diagnosis | None:
    """Why double backward differs, or cannot be had; None where there is nothing to explain.

    ``section`` is the derived one, ``first`` the one whose backward was differentiated.
    """
    failure = evaluation.failure
    if failure and failure.phase == "double backward":
        return Diagnosis("not differentiable", _fails(failure.message))
    if verdict.word != "differs":
        return None
    kept = [
        f"the {UNNAMED_TENSOR.removeprefix('a ')}" if each == UNNAMED_TENSOR else each
        for each in _kept(first, evaluation)
    ]
    if _silent(evaluation):
        return Diagnosis("no history", _no_history(kept, names))
    story = diagnose(section, evaluation, verdict)
    if story is None:
        return None
    said = one_derivative_further(story.sentence, names.of)
    if kept:
        said += (
            f" Autograd does not see through {join_words(kept)}, "
            f"which forward computed and kept for backward: {_INSTEAD}."
        )
    return Diagnosis(story.kind, said)


def _kept(first: Section, evaluation: Evaluation) -> tuple[str, ...]:
    return saved_intermediates(first, float(evaluation.rows.x[evaluation.rows.x.size // 2]))


def _silent(evaluation: Evaluation) -> bool:
    """Whether autograd found no history, and so returns nothing but 0."""
    return evaluation.returned_none and not np.any(evaluation.analytical)


def _unsupported(evaluation: Evaluation, names: Names) -> str:
    slopes = evaluation.numerical.slopes.value
    finite = slopes[np.isfinite(slopes)]
    said = (
        "The second derivative is declared unsupported: backward is decorated with @once_differentiable, so nothing is"
        " drawn as if it were claimed. .backward() through it raises, but torch.autograd.grad with allow_unused=True"
        " silently gives 0"
    )
    if not finite.size:
        return f"{said}."
    low, high = format_number(float(finite.min())), format_number(float(finite.max()))
    if low == high:
        also = ", and so do" if low == "0" else f", where {low} is what say"
        return f"{said}{also} differences of {names.of} on {describe_range(evaluation, names)}."
    return f"{said}, where differences of {names.of} say {low} to {high} on {describe_range(evaluation, names)}."


def _silent_zero(evaluation: Evaluation, verdict: Verdict, names: Names) -> str:
    row, compared = verdict.against.worst, verdict.against
    said = f"autograd’s second derivative is 0 {describe_intervals(compared.intervals, evaluation, names)}"
    if row is None:
        return f"{said}, where {names.of} moves."
    expected = float(evaluation.numerical.slopes.value[row])
    at = f"at {names.wrt} = {describe_point(float(evaluation.rows.x[row]), evaluation)}"
    return f"{said}: {at} differences of {names.of} say {format_distinct(expected, 0.0)}."


def _not_first(found: str, first: VerdictWord) -> str:
    small = f"{found[0].lower()}{found[1:]}"
    if first in ("matches", "matches here"):
        return f"The first derivative is right, but {small}"
    if first == "matches its surrogate":
        return f"The first derivative is what it is meant to be, but {small}"
    return f"{found[0].upper()}{found[1:]} The first derivative differs, too." if first == "differs" else found


def _beside(evaluation: Evaluation, verdict: Verdict, names: Names, first: VerdictWord) -> list[str]:
    said = []
    if verdict.word.startswith("matches"):
        if _silent(evaluation):
            said.append(
                f"Autograd finds no way back from {names.of} to {names.wrt}, and takes its derivative to be 0, rightly."
            )
        if first == "differs":
            said.append(f"That says nothing of {names.of} itself: the first derivative differs.")
        if first == "matches its surrogate":
            said.append(f"{names.of} itself is the derivative of the surrogate, as it is meant to be.")
    return said


def _no_history(kept: list[str], names: Names) -> str:
    said = f"What backward returns has no history that leads to {names.wrt}"
    if kept:
        return f"{said}: what forward computed and kept, {join_words(kept)}, is a plain number to autograd; {_INSTEAD}."
    return (
        f"{said}. No tensor that forward computed is kept on ctx, so it is cut off elsewhere, as detach(), .data,"
        " .item(), NumPy and torch.no_grad() do: compute with tensors that keep theirs, or declare"
        " @once_differentiable."
    )


def _fails(message: str) -> str:
    said = "backward itself can be called, but not be differentiated: with create_graph=True it fails."
    if "detach()" in message:
        said += " Not by detach(), with which the second derivative would silently be 0: compute with torch"
        return f"{said}, or declare @once_differentiable."
    return f"{said} Mend that, or declare @once_differentiable."
