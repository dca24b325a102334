"""Second order: runs a view on backward in the place of forward, to check double backward."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from ..numerics.curve.evaluation import Evaluation
from ..numerics.differentiation.finite_differences import PointKind
from ..numerics.second_order.grad_input import grad_input_section
from ..numerics.second_order.gradgradcheck import gradgradcheck
from ..numerics.second_order.text import explain_second_order, one_derivative_further, second_order_sentence
from ..numerics.verdict.verdict import Verdict
from ..protocol.answer_header import empty_answer
from ..protocol.question import Element, Question
from ..runtime.arrays import Array
from ..runtime.failure import FunctionFailed
from ..runtime.section import Section
from . import curves
from .columns import ColumnArrays
from .common import evaluate_and_judge, sentence_names

_Look = Callable[[Section, Question], tuple[dict[str, Any], ColumnArrays]]

# The views that work for any function and its derivative, and those that show the whole Function, without an order.
_FURTHER = ("curves", "area", "wide", "step")
_WHOLE = ("contract", "node")
_FIRST = "Shown for the first derivative, whatever the order of the curves."
_OF_THE_DECORATOR = "That is all that can be said of a backward with this decorator."
_UNSUPPORTED = "There is nothing to compare: with @once_differentiable the second derivative is declared unsupported."
# Where gradgradcheck is run, as fractions of the suitable points; and the least distance from special points, as a
# fraction of the range.
_CHECKED, _NEAR = np.array([0.17, 0.5, 0.83]), 1e-3


def second_order_view(view: _Look, section: Section, question: Question) -> tuple[dict[str, Any], ColumnArrays]:
    """The document of ``view`` for the second derivative, with its sentences reworded. Raises ``FunctionFailed``.

    A view without a second order shows the first, and says so, unless it has no order at all.
    """
    if question.view in _WHOLE:
        return view(section, question)
    if question.view not in _FURTHER:
        found, drawn = view(section, question)
        return found | {"sentence": f"{_FIRST} {found.get('sentence', '')}".rstrip()}, drawn
    if nothing := _nothing(section, question):
        return nothing, {}
    name = Element(f"grad_{question.wrt.name}", question.wrt.index)
    cut, asked = grad_input_section(section, question.grad_output), replace(question, of=name, grad_output=1.0)
    if question.view == "curves":
        return _curves(section, question, cut, asked)
    found, drawn = view(cut, asked)
    if question.view != "step" and _refused(cut, question):
        return found | {"sentence": _UNSUPPORTED}, drawn
    return found | {"sentence": one_derivative_further(found["sentence"], str(name))}, drawn


def _nothing(section: Section, question: Question) -> dict[str, Any] | None:
    """The header if backward returns no gradient to differentiate, else None."""
    try:
        returned = None
        if not section.sweeps_parameter:
            returned = section.backward(np.array([question.place]), question.grad_output).grad_input
    except FunctionFailed:
        return None  # which is reported when all points are evaluated
    if returned is not None:
        return None
    why = "autograd sees a plain number there" if section.sweeps_parameter else f"{question.of} is cut off from it"
    said = f"There is no second derivative: backward returns no gradient for {question.wrt}, for {why}."
    header = empty_answer(said, None, question.view)
    if question.view == "curves":
        header["verdict"] = header["verdict"] | {"word": "no gradient"}
    return header


def _refused(cut: Section, question: Question) -> bool:
    """Whether backward does not allow itself to be differentiated (once_differentiable)."""
    try:
        return cut.backward(np.array([question.place]), 1.0).grad_input is None
    except FunctionFailed:
        return False


def _curves(section: Section, question: Question, cut: Section, asked: Question) -> tuple[dict[str, Any], ColumnArrays]:
    evaluation, verdict = evaluate_and_judge(cut, asked)
    called = sentence_names(cut, asked)
    first = "unsupported" if verdict.word == "unsupported" else evaluate_and_judge(section, question)[1].word
    said = second_order_sentence(evaluation, verdict, called, first) + _easily(question)
    words = curves.VerdictText(said, explain_second_order(cut, section, evaluation, verdict, called))
    found, drawn = curves.curves_document(cut, asked, evaluation, verdict, words)
    opinion = gradgradcheck(section, _checked(evaluation, verdict), str(question.wrt), evaluation.grid.span)
    if verdict.word == "unsupported" and opinion.passed is False:
        opinion = replace(opinion, sentence=f"{opinion.sentence} {_OF_THE_DECORATOR}")
    return _said_further(found, called.of) | {"gradgradcheck": asdict(opinion)}, drawn


def _said_further(found: dict[str, Any], grad_input: str) -> dict[str, Any]:
    """The header with its other sentences reworded for the second order."""
    findings = [
        each | {"sentence": one_derivative_further(each["sentence"], grad_input)}
        for each in found["linearity"]["findings"]
    ]
    wide = found["wide"]
    return found | {
        "linearity": found["linearity"] | {"findings": findings},
        "wide": wide and wide | {"sentence": one_derivative_further(wide["sentence"], grad_input)},
    }


def _easily(question: Question) -> str:
    return "" if question.grad_output else " That is easily said: with grad_output 0 every gradient is 0."


def _checked(evaluation: Evaluation, verdict: Verdict) -> Array:
    """A few points at which the returned gradient is smooth."""
    at = evaluation.rows
    good = (evaluation.numerical.slopes.kind == PointKind.SMOOTH) & np.isfinite(evaluation.forward)
    for each in evaluation.special:
        good &= np.abs(at.x - each.x) > _NEAR * evaluation.grid.span
    rows = np.flatnonzero(good)
    return at.x[rows[(_CHECKED * rows.size).astype(np.intp)]] if rows.size else np.empty(0)
