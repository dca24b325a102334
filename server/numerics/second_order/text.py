"""The verdict on a second derivative in words, and why double backward differs or fails."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...protocol.listed import listed
from ...runtime.arguments import tensors_of
from ...runtime.graph import CallGraph
from ...runtime.section import Section
from ...schema.section import VerdictWord
from ..curve.evaluation import Evaluation
from ..diagnosis.diagnose import diagnose
from ..diagnosis.stories import Story
from ..formatting.numbers import format_distinct, format_number
from ..sentences.names import Names
from ..sentences.places import describe_intervals, describe_point, describe_range, unbroken_stretches
from ..sentences.verdict_sentence import verdict_sentence
from ..verdict.verdict import Verdict

_UNNAMED = "the saved tensor"
_REMEDY = "recompute it there from the inputs that were saved, or declare @once_differentiable"


def saved_intermediates(section: Section, t: float) -> tuple[str, ...]:
    """Tensors kept for backward that are neither inputs nor outputs, as ``ctx.name`` or ``the saved tensor``.

    Only those of floating point; empty where the section cannot be evaluated at ``t``.
    """
    try:
        graph = CallGraph.of(section, t)
        data = {tensor.data_ptr() for tensor in (*graph.given.values(), *graph.outputs.values())}
        found: list[tuple[str, Any]] = []
        for node in graph.nodes():
            found += [*((f"ctx.{name}", value) for name, value in vars(node).items()), (_UNNAMED, node.saved_tensors)]
        names = [
            name
            for name, value in found
            for each in tensors_of(value)
            if each.is_floating_point() and each.data_ptr() not in data
        ]
    except Exception:  # noqa: BLE001 what fails here is shown where the section itself is evaluated
        return ()
    return tuple(dict.fromkeys(names))


def second_order_sentence(evaluation: Evaluation, verdict: Verdict, names: Names, first: VerdictWord) -> str:
    """What was found of double backward; ``first`` is the word on the first derivative, ``names.of`` grad_input's."""
    if verdict.word == "unsupported":
        return _unsupported(evaluation, names)
    if verdict.word == "differs" and _is_silent(evaluation):
        sentence = _silent_zero(evaluation, verdict, names)
    else:
        sentence = verdict_sentence(evaluation, verdict, names)
    if verdict.word == "differs":
        return _with_first(sentence, first)
    return " ".join((sentence, *_notes(evaluation, verdict, names, first)))


def explain_second_order(first: Section, evaluation: Evaluation, verdict: Verdict, names: Names) -> Story | None:
    """Why double backward differs, or cannot be had; None where there is nothing to explain.

    ``first`` is the section whose backward was differentiated.
    """
    failure = evaluation.failure
    if failure and failure.phase == "double backward":
        return Story("not differentiable", _not_differentiable(failure.message))
    if verdict.word != "differs":
        return None
    x = evaluation.rows.x
    kept = saved_intermediates(first, float(x[x.size // 2]))
    if _is_silent(evaluation):
        return Story("no history", _no_history(kept, names))
    story = diagnose(evaluation, verdict)
    if story is None or not kept:
        return story
    unseen = f"Autograd does not see through {listed(kept)}, which forward computed and kept for backward"
    return Story(story.kind, f"{story.sentence} {unseen}: {_REMEDY}.")


def _is_silent(evaluation: Evaluation) -> bool:
    """Whether autograd found no history, and so returns nothing but 0."""
    return evaluation.returned_none and not np.any(evaluation.analytical)


def _unsupported(evaluation: Evaluation, names: Names) -> str:
    slopes = evaluation.numerical.slopes.value
    finite = slopes[np.isfinite(slopes)]
    sentence = (
        "The second derivative is declared unsupported: backward is decorated with @once_differentiable, so there is "
        "no analytical curve. .backward() through it raises, but torch.autograd.grad with allow_unused=True"
        " silently gives 0"
    )
    if not finite.size:
        return f"{sentence}."
    low, high = format_number(float(finite.min())), format_number(float(finite.max()))
    if low == high:
        comparison = ", and so do" if low == "0" else f", where {low} is what say"
        return f"{sentence}{comparison} differences of {names.of} on {describe_range(evaluation, names)}."
    return f"{sentence}, where differences of {names.of} say {low} to {high} on {describe_range(evaluation, names)}."


def _silent_zero(evaluation: Evaluation, verdict: Verdict, names: Names) -> str:
    row, compared = verdict.against.worst, verdict.against
    stretches, _ = unbroken_stretches(compared.intervals)  # it is 0 at the single points at which it should be, too
    sentence = f"autograd’s second derivative is 0 {describe_intervals(stretches, evaluation, names)}"
    if row is None:
        return f"{sentence}, where {names.of} moves."
    expected = float(evaluation.numerical.slopes.value[row])
    at = f"at {names.wrt} = {describe_point(float(evaluation.rows.x[row]), evaluation)}"
    return f"{sentence}: {at} differences of {names.of} say {format_distinct(expected, 0.0)}."


def _with_first(sentence: str, first: VerdictWord) -> str:
    lowered = f"{sentence[0].lower()}{sentence[1:]}"
    if first in ("matches", "matches here"):
        return f"The first derivative is right, but {lowered}"
    if first == "matches its surrogate":
        return f"The first derivative follows its surrogate, but {lowered}"
    return f"{sentence[0].upper()}{sentence[1:]} The first derivative differs, too." if first == "differs" else sentence


def _notes(evaluation: Evaluation, verdict: Verdict, names: Names, first: VerdictWord) -> list[str]:
    if not verdict.word.startswith("matches"):
        return []
    path = f"Autograd sees no path from {names.of} to {names.wrt} and takes the derivative as 0, which is right here."
    notes = [path] if _is_silent(evaluation) else []
    if first == "differs":
        notes.append(f"That says nothing about {names.of} itself: the first derivative differs.")
    if first == "matches its surrogate":
        notes.append(f"{names.of} itself is the derivative of the surrogate, by design.")
    return notes


def _no_history(saved: tuple[str, ...], names: Names) -> str:
    first = f"What backward returns has no history that leads to {names.wrt}"
    if saved:
        values = listed(saved)
        return f"{first}: what forward computed and kept, {values}, is a plain number to autograd; {_REMEDY}."
    return (
        f"{first}. No tensor that forward computed is kept on ctx, so it is cut off elsewhere: detach(), .data, "
        ".item(), NumPy and torch.no_grad() do that. Compute with tensors that keep their history, or declare "
        "@once_differentiable."
    )


def _not_differentiable(message: str) -> str:
    sentence = "backward itself can be called, but not be differentiated: with create_graph=True it fails."
    if "detach()" in message:
        sentence += " Not with detach(), which would silently make the second derivative 0: compute with torch"
        return f"{sentence}, or declare @once_differentiable."
    return f"{sentence} Fix that, or declare @once_differentiable."
