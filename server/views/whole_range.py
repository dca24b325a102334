"""Whole-range view: backward against finite differences of forward over all numbers of the dtype."""

from __future__ import annotations

import numpy as np

from ..numerics.curve.evaluation import Evaluation
from ..numerics.sentences.places import Names
from ..numerics.sentences.verdict_sentence import whole_range_sentences
from ..numerics.status import Status
from ..numerics.whole_range.check import WholeRangeCheck
from ..protocol.question import Question
from ..runtime.section import Section
from ..schema.section import AskedRecord, BeyondRecord
from ..schema.views import WideRecord
from .common import STATUS_WORDS, ColumnArrays, ViewAnswer, evaluate_and_judge, failure_record, sentence_names


def whole_range_view(section: Section, question: Question, asked: AskedRecord) -> ViewAnswer:
    """The document: one row a point, spaced more widely away from 0. Raises ``FunctionFailed``."""
    evaluation, _ = evaluate_and_judge(section, question)
    wide = evaluation.whole_range
    summary = whole_range_summary(evaluation, sentence_names(section, question))
    header: WideRecord = {
        **asked,
        "view": "wide",
        "sentence": (summary and summary["sentence"]) or _why_nothing(evaluation, str(question.wrt)),
        "statuses": STATUS_WORDS,
        "reach": summary["reach"] if summary else None,
        "finite": summary["finite"] if summary else None,
        "intervals": summary["intervals"] if summary else [],
        "failure": failure_record(evaluation.failure),
    }
    return header, _columns(wide) if wide else {}


def whole_range_summary(evaluation: Evaluation, names: Names) -> BeyondRecord | None:
    """The summary for the curves: the range tested, and where backward differs; None if there is no gradient."""
    wide = evaluation.whole_range
    if wide is None:
        return None
    return {
        "reach": wide.reach,
        "finite": wide.finite if np.isfinite(wide.finite).all() else None,
        "judged": int(np.isin(wide.status, (Status.AGREES, Status.SUBGRADIENT, Status.DIFFERS)).sum()),
        "intervals": list(wide.intervals),
        "sentence": " ".join(whole_range_sentences(wide, evaluation.grid, names)),
    }


def _columns(wide: WholeRangeCheck) -> ColumnArrays:
    curves = {name: getattr(wide, name) for name in ("x", "forward", "analytical", "numerical", "error")}
    return curves | {"status": wide.status.astype(np.uint8)}


def _why_nothing(evaluation: Evaluation, wrt: str) -> str:
    """Why there is nothing to compare."""
    if evaluation.failure:
        return f"There is nothing to compare: {evaluation.failure.brief}."
    if evaluation.analytical is None:
        return f"There is nothing to compare: backward returns no gradient for {wrt}."
    if evaluation.grad_output == 0:
        return "There is nothing to compare: with grad_output 0 every gradient is 0."
    if evaluation.whole_range is None:
        return "There is nothing to compare: two equal calls of the Function differ."
    return f"There is nothing to compare: the Function cannot be called near {wrt} = 0, where the check starts."
