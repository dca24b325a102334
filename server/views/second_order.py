"""Second order: runs a view on backward in the place of forward, to check double backward."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..numerics.curve.evaluation import Evaluation
from ..numerics.differentiation.finite_differences import PointKind
from ..numerics.second_order.grad_input import grad_input_section
from ..numerics.second_order.gradgradcheck import gradgradcheck
from ..numerics.second_order.text import explain_second_order, second_order_sentence
from ..numerics.sentences.headline import headline
from ..numerics.sentences.names import section_names
from ..protocol.answer import empty_answer
from ..protocol.question import Element, Question
from ..protocol.views import VIEWS, AnswerRecord
from ..runtime.arrays import Array
from ..runtime.failure import FunctionFailed
from ..runtime.section import Section
from ..schema.answer_notes import verdict_note
from ..schema.section import AskedRecord, OpinionRecord
from . import curves
from .common import ViewAnswer, ViewFunction, evaluate_and_judge, record_of

_FIRST_ORDER_NOTE = "Shown for the first derivative, whatever the order of the curves."
_OF_THE_DECORATOR = "That is all that can be said of a backward with this decorator."
_UNSUPPORTED = "There is nothing to compare: with @once_differentiable the second derivative is declared unsupported."
# Where gradgradcheck is run, as fractions of the suitable points; and the least distance from special points, as a
# fraction of the range.
_FRACTIONS, _MIN_DISTANCE = np.array([0.17, 0.5, 0.83]), 1e-3


def second_order_view(view: ViewFunction, section: Section, question: Question, asked: AskedRecord) -> ViewAnswer:
    """The document of ``view`` for the second derivative, in words of its own. Raises ``FunctionFailed``.

    A view without a second order shows the first, and says so, unless it has no order at all.
    """
    shown = VIEWS[question.view].order
    if shown == "none":
        return view(section, question, asked)
    if shown == "first":
        header, columns = view(section, question, asked)
        if header["view"] != "curves":
            header["sentence"] = f"{_FIRST_ORDER_NOTE} {header['sentence']}".rstrip()
        return header, columns
    if blank := _without_gradient(section, question, asked):
        return blank, {}
    grad_input = Element(f"grad_{question.wrt.name}", question.wrt.index)
    backward = grad_input_section(section, question.grad_output)
    further = replace(question, of=grad_input, grad_output=1.0)
    if question.view == "curves":
        return _curves(section, question, asked, backward, further)
    header, columns = view(backward, further, asked)
    if header["view"] != "curves" and question.view != "step" and _refused(backward, question):
        header["sentence"] = _UNSUPPORTED
    return header, columns


def _without_gradient(section: Section, question: Question, asked: AskedRecord) -> AnswerRecord | None:
    """The header if backward returns no gradient to differentiate, else None."""
    try:
        returned = None
        if not section.sweeps_parameter:
            returned = section.backward(np.array([question.place]), question.grad_output).grad_input
    except FunctionFailed:
        return None  # which is reported when all points are evaluated
    if returned is not None:
        return None
    reason = "autograd sees a plain number there" if section.sweeps_parameter else f"{question.of} is cut off from it"
    sentence = f"There is no second derivative: backward returns no gradient for {question.wrt}, for {reason}."
    header = empty_answer(question, asked, sentence)
    if header["view"] == "curves":
        header["verdict"] |= {"word": "no gradient", "headline": f"No gradient comes back for {question.wrt}."}
        header["verdict"]["note"] = verdict_note("no gradient")
    return header


def _refused(backward: Section, question: Question) -> bool:
    """Whether backward does not allow itself to be differentiated (once_differentiable)."""
    try:
        return backward.backward(np.array([question.place]), 1.0).grad_input is None
    except FunctionFailed:
        return False


def _curves(
    section: Section, question: Question, asked: AskedRecord, backward: Section, further: Question
) -> ViewAnswer:
    evaluation, verdict = evaluate_and_judge(backward, further)
    names = section_names(backward)
    first = "unsupported" if verdict.word == "unsupported" else evaluate_and_judge(section, question)[1].word
    note = "" if question.grad_output else " That says little: with grad_output 0 every gradient is 0."
    sentence = second_order_sentence(evaluation, verdict, names, first) + note
    explanation = explain_second_order(section, evaluation, verdict, names)
    words = curves.VerdictText(headline(evaluation, verdict, names), sentence, explanation)
    header, columns = curves.curves_answer(backward, further, asked, (evaluation, verdict), words)
    opinion = gradgradcheck(section, _smooth_points(evaluation), str(question.wrt), evaluation.grid.span)
    if verdict.word == "unsupported" and opinion.passed is False:
        opinion = replace(opinion, sentence=f"{opinion.sentence} {_OF_THE_DECORATOR}")
    if header["view"] == "curves":
        header["gradgradcheck"] = record_of(opinion, OpinionRecord)
    return header, columns


def _smooth_points(evaluation: Evaluation) -> Array:
    """A few points at which the returned gradient is smooth."""
    at = evaluation.rows
    smooth = (evaluation.numerical.slopes.kind == PointKind.SMOOTH) & np.isfinite(evaluation.forward)
    for each in evaluation.special:
        smooth &= np.abs(at.x - each.x) > _MIN_DISTANCE * evaluation.grid.span
    rows = np.flatnonzero(smooth)
    return at.x[rows[(_FRACTIONS * rows.size).astype(np.intp)]] if rows.size else np.empty(0)
