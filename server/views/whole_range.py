"""Whole-range view: backward against finite differences of forward over all numbers of the dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numerics.curve.evaluation import Evaluation
from ..numerics.sentences.names import Names, section_names
from ..numerics.sentences.verdict_sentence import whole_range_sentences
from ..numerics.status import JUDGED
from ..protocol.question import Question
from ..runtime.section import Section
from ..schema.section import AskedRecord, BeyondRecord
from .common import ViewAnswer, evaluate_and_judge, record_of, view_answer, why_nothing_compared


def whole_range_view(section: Section, question: Question, asked: AskedRecord) -> ViewAnswer:
    """The document: one row a point, spaced more widely away from 0. Raises ``FunctionFailed``."""
    evaluation, _ = evaluate_and_judge(section, question)
    names = section_names(section)
    summary = whole_range_summary(evaluation, names)
    found: dict[str, Any] = {**(summary or {"reach": None, "finite": None, "intervals": []})}
    found["sentence"] = found.get("sentence") or _why_nothing(evaluation, names)
    return view_answer(asked, evaluation, evaluation.whole_range, **found)


def whole_range_summary(evaluation: Evaluation, names: Names) -> BeyondRecord | None:
    """The summary for the curves: the range tested, and where backward differs; None if there is no gradient."""
    wide = evaluation.whole_range
    if wide is None:
        return None
    return record_of(
        wide,
        BeyondRecord,
        finite=wide.finite if np.isfinite(wide.finite).all() else None,
        judged=int(np.isin(wide.status, JUDGED).sum()),
        sentence=" ".join(whole_range_sentences(wide, evaluation.grid, names)),
    )


def _why_nothing(evaluation: Evaluation, names: Names) -> str:
    if reason := why_nothing_compared(evaluation, names):
        return reason
    if evaluation.whole_range is None:
        return "There is nothing to compare: two equal calls of the Function differ."
    return f"There is nothing to compare: the Function cannot be called near {names.wrt} = 0, where the check starts."
