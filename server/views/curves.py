"""Curves view: forward, the analytical and the numerical gradient, and the verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch

from ..numerics.curve.evaluation import Evaluation
from ..numerics.diagnosis.diagnose import Diagnosis, diagnose
from ..numerics.sentences.places import describe_point, join_words
from ..numerics.sentences.verdict import verdict_sentence
from ..numerics.status import Status
from ..numerics.studies.implied_forward import implied_forward
from ..numerics.verdict.verdict import Verdict, judged_curve
from ..protocol.question import Question
from ..runtime.section import Section
from . import area, whole_range
from .columns import ColumnArrays, curve_columns, finite_or_none, gap_reasons, point_marks
from .common import evaluate_and_judge, linearity_findings, sentence_names


@dataclass(frozen=True)
class VerdictText:
    """The verdict in sentences, and its explanation."""

    sentence: str
    explanation: Diagnosis | None


def curves_view(section: Section, question: Question) -> tuple[dict[str, Any], ColumnArrays]:
    """The document: everything measured of a section. Raises ``FunctionFailed``."""
    evaluation, verdict = evaluate_and_judge(section, question)
    said = verdict_sentence(evaluation, verdict, sentence_names(section, question))
    return curves_document(
        section, question, evaluation, verdict, VerdictText(said, diagnose(section, evaluation, verdict))
    )


def curves_document(
    section: Section, question: Question, evaluation: Evaluation, verdict: Verdict, words: VerdictText
) -> tuple[dict[str, Any], ColumnArrays]:
    """The document for an evaluation that is already judged, with these sentences."""
    drawn = curve_columns(evaluation, verdict)
    if not verdict.word.startswith("matches") or verdict.word == "matches its surrogate":
        followed = implied_forward(evaluation, verdict)
        drawn |= {} if followed is None else {"implied": followed}
    slopes = evaluation.numerical.slopes
    return {
        "notes": _notes(evaluation, section, question),
        "numerical": {
            "dtype": str(evaluation.numerical_dtype).removeprefix("torch."),
            "device": evaluation.numerical_device,
            "forwards_per_point": slopes.forwards,
            "step": slopes.step,
        },
        "tolerance": asdict(verdict.tolerance),
        "structure": evaluation.structure,
        "verdict": _verdict(section, evaluation, verdict, words),
        "linearity": {
            "holds": None if evaluation.failure or evaluation.analytical is None else evaluation.linearity.holds,
            "findings": linearity_findings(evaluation.linearity, str(question.wrt)),
        },
        "wide": whole_range.whole_range_summary(evaluation, sentence_names(section, question)),
        "area": area.area_summary(evaluation, verdict),
        "statuses": [each.name.lower() for each in Status],
        "gaps": gap_reasons(evaluation, drawn),
        "marks": point_marks(evaluation),
        "gradgradcheck": None,
        "failure": asdict(evaluation.failure) if evaluation.failure else None,
    }, drawn


def _verdict(section: Section, evaluation: Evaluation, verdict: Verdict, words: VerdictText) -> dict[str, Any]:
    against, explanation = verdict.against, words.explanation
    return {
        "word": verdict.word,
        "sentence": words.sentence,
        "explanation": asdict(explanation) if explanation else None,
        "intervals": [list(each) for each in (verdict.forward if section.op.surrogate else against).intervals],
        "worst": _worst(evaluation, verdict),
        "judged": against.count(Status.AGREES, Status.SUBGRADIENT, Status.DIFFERS),
        "undecided": against.count(Status.UNDECIDED),
    }


def _worst(evaluation: Evaluation, verdict: Verdict) -> dict[str, float | None] | None:
    row = verdict.against.worst
    if row is None or evaluation.analytical is None:
        return None
    slopes = judged_curve(evaluation, verdict).slopes
    return {
        "x": float(evaluation.rows.x[row]),
        "analytical": finite_or_none(evaluation.analytical[row]),
        "numerical": finite_or_none(evaluation.grad_output * slopes.value[row]),
        "error": finite_or_none(abs(evaluation.grad_output) * slopes.error[row]),
    }


def _notes(evaluation: Evaluation, section: Section, question: Question) -> list[str]:
    notes = []
    forward = "forward" if section.order == 1 else "backward"
    if evaluation.returned_none and section.order == 1:
        notes.append(f"backward returns None for {section.wrt}; autograd treats that as 0.")
    if evaluation.numerical.slopes.precision > 2.0**-30:
        notes.append(f"{forward} computes in low precision inside, so the differences take wider steps.")
    if evaluation.grid.count < question.count and evaluation.structure == "one by one":
        notes.append(f"Every point needs calls of its own, so {evaluation.grid.count} points are looked at.")
    for brief in dict.fromkeys(brief for _, brief in evaluation.refused):
        where = join_words([describe_point(x, evaluation) for x, each in evaluation.refused if each == brief])
        notes.append(f"{brief} at {question.wrt} = {where}.")
    if evaluation.numerical.unseen:
        notes.append(
            f"{forward if section.order == 1 else section.of} moves in steps that lie closer together than the points;"
            " zoom in to see them."
        )
    if evaluation.numerical_dtype != torch.float64:
        kind = str(evaluation.numerical_dtype).removeprefix("torch.")
        notes.append(f"{forward} refuses float64, so the numerical gradient is computed in {kind} too.")
    return notes
