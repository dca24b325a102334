"""Area view: the rise of forward, or of its surrogate, over each cell against the integral of the returned gradient."""

from __future__ import annotations

import numpy as np

from ..numerics.curve.evaluation import Evaluation
from ..numerics.curve.integral_check import IntegralCheck
from ..numerics.formatting.numbers import format_number
from ..numerics.status import Status
from ..numerics.verdict.cell_judge import allowed_residual
from ..numerics.verdict.point_judge import allowed_along, cell_intervals
from ..numerics.verdict.slope_judge import Statuses
from ..numerics.verdict.verdict import Verdict, judged_curve
from ..protocol.question import Question
from ..runtime.section import Section
from ..schema.section import AskedRecord, CellRecord, CellsRecord
from .common import ColumnArrays, ViewAnswer, evaluate_and_judge, record_at, view_answer

_NEAR_ZERO = 1e-9  # bound: an end closer to 0 than this share of the range is the side of a jump at 0


def area_view(section: Section, question: Question, asked: AskedRecord) -> ViewAnswer:
    """The document: one row for each cell between neighbouring x. Raises ``FunctionFailed``."""
    evaluation, verdict = evaluate_and_judge(section, question)
    area, cells = _judged(evaluation, verdict)
    judged: ColumnArrays = {}
    if area:
        allowed = allowed_along(evaluation, judged_curve(evaluation, verdict), verdict.allowed)
        judged["allowed"] = allowed_residual(area, allowed, evaluation.grad_output)
        judged["status"] = cells.astype(np.uint8)
    sentence = _sentence(evaluation, verdict, str(question.wrt))
    return view_answer(asked, evaluation, area, judged, sentence=sentence, intervals=cell_intervals(area, cells))


def _judged(evaluation: Evaluation, verdict: Verdict) -> tuple[IntegralCheck | None, Statuses]:
    """The cells of the comparison on which the verdict rests: with forward, or with the surrogate."""
    return evaluation.area_under(judged_curve(evaluation, verdict)), verdict.against.cells


def area_summary(evaluation: Evaluation, verdict: Verdict) -> CellsRecord | None:
    """The summary for the curves: how many cells differ, and the worst one; None if there is no gradient."""
    area, cells = _judged(evaluation, verdict)
    if area is None:
        return None
    differs = cells == Status.DIFFERS
    row = int(np.argmax(np.where(differs, np.abs(area.residual), -1.0))) if differs.any() else None
    return {
        "cells": cells.size,
        "differs": int(differs.sum()),
        "undecided": int((cells == Status.UNDECIDED).sum()),
        "intervals": list(cell_intervals(area, cells)),
        "worst": None if row is None else record_at(area, row, CellRecord),
    }


def _sentence(evaluation: Evaluation, verdict: Verdict, wrt: str) -> str:
    """Whether the areas equal the rise of forward, or of its surrogate, and where they are farthest from it."""
    area, cells = _judged(evaluation, verdict)
    if evaluation.failure:
        return f"There is no area: {evaluation.failure.brief}."
    if evaluation.grad_output == 0:
        return "With grad_output 0 every gradient is 0: there is no area to compare."
    if evaluation.hurried:
        return f"{evaluation.hurried}, so no areas are compared."
    if area is None:
        return f"There is no area: backward returns no gradient for {wrt} between the points."
    differs = int((cells == Status.DIFFERS).sum())
    judged = differs + int((cells == Status.AGREES).sum())
    if not judged:
        return f"Rounding hides what there is to see: none of {cells.size} cells between the points could be checked."
    owner = "forward" if verdict.against is verdict.forward else "its surrogate"
    rise = f"{owner} changes by" if evaluation.grad_output == 1 else f"grad_output times the change of {owner} is"
    if not differs:
        return (
            f"Between neighbouring points {rise} the integral of what backward returned, in all {judged} cells checked."
        )
    low, high, rise_there, area_there = _farthest(area, cells)
    place = f"from {wrt} = {_place(low, evaluation.grid.span)} to {_place(high, evaluation.grid.span)}"
    count = f"all {judged}" if differs == judged else f"{differs} of {judged}"
    return (
        f"In {count} cells the integral of what backward returned is not the change of {owner}:"
        f" {place} {rise} {format_number(rise_there)}, and the integral is {format_number(area_there)}."
    )


def _place(x: float, span: float) -> str:
    return format_number(x if abs(x) > _NEAR_ZERO * span else 0.0, span)


def _farthest(area: IntegralCheck, cells: Statuses) -> tuple[float, float, float, float]:
    """The interval of differing cells with the largest error: its ends, the rise and the area."""
    totals = []
    for low, high in cell_intervals(area, cells):
        inside = (area.left >= low) & (area.right <= high) & (cells == Status.DIFFERS)
        totals.append((low, high, float(area.rise[inside].sum()), float(area.area[inside].sum())))
    farthest = max(totals, key=lambda each: abs(each[2] - each[3]))
    cell = int(np.argmax(np.where(cells == Status.DIFFERS, np.abs(area.residual), -1.0)))
    if abs(farthest[2] - farthest[3]) >= abs(area.residual[cell]):
        return farthest
    # Errors of opposite sign cancel within an interval: then the worst single cell is reported.
    return float(area.left[cell]), float(area.right[cell]), float(area.rise[cell]), float(area.area[cell])
