"""Curves view: forward, the analytical and the numerical gradient, and the verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from ..numerics.curve.evaluation import Evaluation, difference_at
from ..numerics.diagnosis.diagnose import diagnose
from ..numerics.diagnosis.stories import Story
from ..numerics.differentiation.finite_differences import PointKind, Slopes
from ..numerics.sentences.headline import headline
from ..numerics.sentences.names import Names, section_names
from ..numerics.sentences.places import describe_point, describe_range
from ..numerics.sentences.verdict_sentence import verdict_sentence
from ..numerics.status import JUDGED, Status
from ..numerics.studies.implied_forward import implied_forward
from ..numerics.verdict.verdict import Verdict, judged_curve
from ..protocol.listed import listed
from ..protocol.question import Question
from ..runtime.arrays import Array, dtype_name
from ..runtime.section import Section
from ..schema.answer_notes import verdict_note
from ..schema.section import (
    AskedRecord,
    ExplanationRecord,
    JumpRecord,
    KinkRecord,
    NumericalRecord,
    RemarkRecord,
    VerdictRecord,
    WorstRecord,
)
from ..schema.verdict_words import FORWARD_WORDS
from . import area, whole_range
from .common import (
    ColumnArrays,
    ViewAnswer,
    evaluate_and_judge,
    failure_record,
    linearity_findings,
    record_of,
    view_answer,
)
from .seen import seen_summary

# Kinds of points where finite differences have no single value, and the reason given for the gap.
_GAP_OF_KIND = {PointKind.KINK: "kink", PointKind.JUMP: "jump", PointKind.UNRESOLVED: "undecided"}

_MANY = 1 << 14  # budget: of more elements the X-ray and the other sections look at some
_BENT = ("kink", "cusp")


@dataclass(frozen=True)
class VerdictText:
    """The verdict in a line and in sentences, and its explanation."""

    headline: str
    sentence: str
    explanation: Story | None


def curves_view(section: Section, question: Question, asked: AskedRecord) -> ViewAnswer:
    """The document: everything measured of a section. Raises ``FunctionFailed``."""
    evaluation, verdict = evaluate_and_judge(section, question)
    names = section_names(section)
    sentence, explanation = verdict_sentence(evaluation, verdict, names), diagnose(evaluation, verdict)
    words = VerdictText(headline(evaluation, verdict, names), sentence, explanation)
    return curves_answer(section, question, asked, (evaluation, verdict), words)


def curves_answer(
    section: Section, question: Question, asked: AskedRecord, found: tuple[Evaluation, Verdict], words: VerdictText
) -> ViewAnswer:
    """The answer for what was found, an evaluation that is already judged, with these sentences."""
    evaluation, verdict = found
    columns = curve_columns(evaluation, verdict)
    if verdict.word not in FORWARD_WORDS:
        implied = implied_forward(evaluation, verdict)
        columns |= {} if implied is None else {"implied": implied}
    slopes, names = evaluation.numerical.slopes, section_names(section)
    seen = None
    if section.order == 1 and not evaluation.hurried:
        seen, shares = seen_summary(section, question, evaluation, verdict)
        columns |= shares
    holds = None if evaluation.failure or evaluation.analytical is None else evaluation.linearity.holds
    measured_by: NumericalRecord = {
        "dtype": dtype_name(evaluation.reference.dtype),
        "device": evaluation.reference.device,
        "forwards_per_point": slopes.forwards,
        "step": slopes.step,
    }
    return view_answer(
        asked,
        evaluation,
        also=columns,
        notes=asked["notes"] + _notes(evaluation, names, question),
        numerical=measured_by,
        tolerance=verdict.tolerance,
        verdict=_verdict(evaluation, verdict, words),
        linearity={"holds": holds, "findings": linearity_findings(evaluation.linearity, names)},
        wide=whole_range.whole_range_summary(evaluation, names),
        area=area.area_summary(evaluation, verdict),
        seen=seen,
        gaps=gap_reasons(evaluation, columns),
        marks=point_marks(evaluation),
        gradgradcheck=None,
    )


def _verdict(evaluation: Evaluation, verdict: Verdict, words: VerdictText) -> VerdictRecord:
    against, explanation = verdict.against, words.explanation
    return {
        "word": verdict.word,
        "note": verdict_note(verdict.word, explanation.kind if explanation else "", failure_record(evaluation.failure)),
        "headline": words.headline,
        "sentence": words.sentence,
        "explanation": record_of(explanation, ExplanationRecord) if explanation else None,
        "intervals": list((against if verdict.word == "differs" else verdict.forward).intervals),
        "worst": _worst(evaluation, verdict),
        "remark": record_of(against.remark, RemarkRecord) if against.remark else None,
        "judged": against.count(*JUDGED),
        "undecided": against.count(Status.UNDECIDED),
    }


def _worst(evaluation: Evaluation, verdict: Verdict) -> WorstRecord | None:
    row = verdict.against.worst
    if row is None or evaluation.analytical is None:
        return None
    curve = judged_curve(evaluation, verdict)
    slopes, found = curve.slopes, difference_at(evaluation, curve, row)
    return record_of(
        found,
        WorstRecord,
        analytical=evaluation.analytical[row],
        numerical=evaluation.grad_output * slopes.value[row],
        error=abs(evaluation.grad_output) * slopes.error[row],
    )


def _notes(evaluation: Evaluation, names: Names, question: Question) -> list[str]:
    notes, section = [], evaluation.section
    if evaluation.returned_none and section.order == 1:
        notes.append(f"backward returns None for {section.wrt}; autograd treats that as 0.")
    if many := [each.name for each in section.op.inputs if math.prod(each.shape) > _MANY]:
        notes.append(f"Of the elements of {listed(many)} some are looked at: there are too many for all of them.")
    if evaluation.numerical.slopes.precision > 2.0**-30:
        notes.append(f"{names.forward} computes in low precision inside, so the differences take wider steps.")
    if evaluation.grid.count < question.count and evaluation.structure == "one by one":
        notes.append(f"Each point needs its own calls, so only {evaluation.grid.count} points are computed.")
    if evaluation.elsewhere:
        only = f"only {describe_range(evaluation, names)} was looked at, as elsewhere {names.forward} raises"
        notes.append(f"Of this range {only} {evaluation.elsewhere.raised}.")
    for brief in dict.fromkeys(brief for _, brief in evaluation.refused):
        where = listed([describe_point(x, evaluation) for x, each in evaluation.refused if each == brief])
        notes.append(f"{brief} at {question.wrt} = {where}.")
    if evaluation.numerical.unseen:
        notes.append(f"{names.forward} has steps that lie closer together than the points; zoom in to see them.")
    if evaluation.reference.dtype != torch.float64:
        kind = dtype_name(evaluation.reference.dtype)
        notes.append(f"{names.forward} refuses float64, so the numerical gradient is computed in {kind} too.")
    return notes


def curve_columns(evaluation: Evaluation, verdict: Verdict) -> ColumnArrays:
    """The curves as float64 columns (``status``: uint8); gradients are ``grad_input``. NaN is not drawn."""
    scale, slopes, gap = evaluation.grad_output, evaluation.numerical.slopes, evaluation.rows.gap
    with np.errstate(invalid="ignore"):
        columns: ColumnArrays = {
            "x": evaluation.rows.x,
            "forward": np.where(gap, np.nan, evaluation.forward),
            "numerical": scale * _single_slopes(slopes),
            "error": abs(scale) * slopes.error,
            "left": scale * slopes.left,
            "right": scale * slopes.right,
        }
        if evaluation.analytical is not None:
            columns["analytical"] = evaluation.analytical
        if evaluation.surrogate is not None:
            # At a jump of its own it has no value either, as where it is what backward returned.
            cut = gap & (evaluation.surrogate.slopes.kind == PointKind.JUMP)
            columns["surrogate"] = np.where(cut, np.nan, evaluation.surrogate.values)
            columns["surrogate_numerical"] = scale * _single_slopes(evaluation.surrogate.slopes)
    columns["status"] = verdict.forward.status.astype(np.uint8)
    return columns


def _single_slopes(slopes: Slopes) -> Array:
    """The slopes, NaN where there is not one."""
    return np.where(np.isin(slopes.kind, list(_GAP_OF_KIND)), np.nan, slopes.value)


def gap_reasons(evaluation: Evaluation, columns: ColumnArrays) -> dict[str, dict[str, list[int]]]:
    """For each column, the rows that hold no finite number, by reason (nan, +inf, -inf, jump, kink, undecided)."""
    measured = {"numerical": evaluation.numerical, "surrogate_numerical": evaluation.surrogate}
    kinds, gap = {name: curve.slopes.kind for name, curve in measured.items() if curve}, evaluation.rows.gap
    reasons: dict[str, dict[str, list[int]]] = {}
    for name in (each for each in columns if each not in ("x", "status")):  # in a fixed order: the ETag is a hash of it
        for row in np.flatnonzero(~np.isfinite(columns[name])).tolist():
            hidden = _GAP_OF_KIND.get(int(kinds[name][row])) if name in kinds else None
            cut = "jump" if name in ("forward", "surrogate") and gap[row] else None
            value = columns[name][row]
            reason = cut or hidden or ("nan" if np.isnan(value) else f"{value:+}")
            reasons.setdefault(name, {}).setdefault(reason, []).append(row)
    return reasons


def point_marks(evaluation: Evaluation) -> list[KinkRecord | JumpRecord]:
    """The special points from left to right: kinks and cusps with their gradients, jumps and poles with their values.

    Gradients are ``grad_input``; what is not finite is None.
    """
    kinds = {float(each.x): each.kind for each in evaluation.special}
    x, slopes, gap = evaluation.rows.x, evaluation.numerical.slopes, evaluation.rows.gap
    bent = ~gap & (
        np.isin(x, [place for place, kind in kinds.items() if kind in _BENT]) | (slopes.kind == PointKind.KINK)
    )
    vertical = np.isinf(slopes.left) | np.isinf(slopes.right)
    values, scale, marks = evaluation.forward, evaluation.grad_output, list[KinkRecord | JumpRecord]()
    for row in np.flatnonzero(bent | gap):
        analytical = None if evaluation.analytical is None else evaluation.analytical[row]
        mark = partial(record_of, None, x=x[row], forward=values[row], analytical=analytical)
        if gap[row]:
            jump = kinds.get(float(x[row]), "jump") == "jump"
            below, above = (values[row - 1], values[row + 1]) if jump else (None, None)
            marks.append(mark(JumpRecord, kind="jump" if jump else "pole", below=below, above=above))
        else:
            cusp = kinds.get(float(x[row]), "cusp" if vertical[row] else "kink") == "cusp"
            left, right = scale * slopes.left[row], scale * slopes.right[row]
            marks.append(mark(KinkRecord, kind="cusp" if cusp else "kink", left=left, right=right))
    return marks
