"""Area view: the rise of forward, or of its surrogate, over each cell against the integral of the returned gradient."""

from __future__ import annotations

import numpy as np

from ..numerics.curve.evaluation import Evaluation
from ..numerics.curve.integral_check import IntegralCheck
from ..numerics.formatting.numbers import NOTHING, format_number
from ..numerics.sentences.names import Names, section_names
from ..numerics.status import Status
from ..numerics.verdict.cell_judge import allowed_residual
from ..numerics.verdict.curve_judge import allowed_along, cell_intervals
from ..numerics.verdict.slope_judge import Statuses
from ..numerics.verdict.verdict import Verdict, judged_curve
from ..protocol.question import Question
from ..runtime.section import Section
from ..schema.section import AskedRecord, CellRecord, CellsRecord
from .common import ColumnArrays, ViewAnswer, evaluate_and_judge, record_at, view_answer, why_nothing_compared


def area_view(section: Section, question: Question, asked: AskedRecord) -> ViewAnswer:
    """The document: one row for each cell between neighbouring x. Raises ``FunctionFailed``."""
    evaluation, verdict = evaluate_and_judge(section, question)
    curve, cells, judged = judged_curve(evaluation, verdict), verdict.against.cells, ColumnArrays()
    area = evaluation.area_under(curve)
    if area:
        allowed = allowed_along(evaluation, curve, verdict.allowed)
        judged["allowed"] = allowed_residual(area, allowed, evaluation.grad_output)
        judged["status"] = cells.astype(np.uint8)
    names = section_names(section)
    sentence = why_nothing_compared(evaluation, names) or _sentence(evaluation, verdict, names)
    return view_answer(asked, evaluation, area, judged, sentence=sentence, intervals=cell_intervals(area, cells))


def area_summary(evaluation: Evaluation, verdict: Verdict) -> CellsRecord | None:
    """The summary for the curves: how many cells differ, and the worst one; None if there is no gradient."""
    area, cells = evaluation.area_under(judged_curve(evaluation, verdict)), verdict.against.cells
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


def _sentence(evaluation: Evaluation, verdict: Verdict, names: Names) -> str:
    """Whether the areas equal the rise of forward, or of its surrogate, and where they are farthest from it."""
    area, cells = evaluation.area_under(judged_curve(evaluation, verdict)), verdict.against.cells
    if area is None:
        return f"There is nothing to compare: {names.backward} returns no gradient for {names.wrt} between the points."
    differs = int((cells == Status.DIFFERS).sum())
    judged = differs + int((cells == Status.AGREES).sum())
    if not judged:
        return f"Rounding hides what there is to see: none of {cells.size} cells between the points could be checked."
    owner = names.forward if verdict.against is verdict.forward else "its surrogate"
    rise = (
        f"{owner} changes by" if evaluation.grad_output == 1 else f"{names.grad_output} times the change of {owner} is"
    )
    if not differs:
        integral = f"the integral of what {names.backward} returned, in all {judged} cells checked"
        return f"Between neighbouring points {rise} {integral}."
    low, high, rise_there, area_there = _farthest(area, cells)
    place = f"from {names.wrt} = {_place(low, evaluation.grid.span)} to {_place(high, evaluation.grid.span)}"
    count = f"all {judged}" if differs == judged else f"{differs} of {judged}"
    return (
        f"In {count} cells the integral of what {names.backward} returned is not the change of {owner}:"
        f" {place} {rise} {format_number(rise_there)}, and the integral is {format_number(area_there)}."
    )


def _place(x: float, span: float) -> str:
    return format_number(x if abs(x) > NOTHING * span else 0.0, span)


def _farthest(area: IntegralCheck, cells: Statuses) -> tuple[float, float, float, float]:
    """The interval of differing cells with the largest error, or a cell with a larger one: ends, rise and area.

    Errors of opposite sign cancel within an interval.
    """
    differs = cells == Status.DIFFERS
    stretches = [(area.left >= low) & (area.right <= high) & differs for low, high in cell_intervals(area, cells)]
    stretches.append(np.arange(cells.size) == np.where(differs, np.abs(area.residual), -1.0).argmax())
    farthest = max(stretches, key=lambda some: abs(area.residual[some].sum()))
    ends = float(area.left[farthest][0]), float(area.right[farthest][-1])
    return *ends, float(area.rise[farthest].sum()), float(area.area[farthest].sum())
