"""Jacobian view: finite differences and backward cell by cell, and which output depends on which input."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..numerics.differentiation.finite_differences import PointKind
from ..numerics.jacobian.dependence import Dependence, measure_dependence
from ..numerics.jacobian.jacobian import ElementRange, Jacobian, held_at, jacobian
from ..numerics.jacobian.sparsity import sparsity_pattern
from ..numerics.jacobian.text import (
    DifferingCell,
    count_differing_cells,
    dependence_sentence,
    jacobian_sentence,
    loss_name,
    other_tensors_sentence,
    worst_jacobian_cell,
)
from ..numerics.status import Status
from ..protocol.question import Question
from ..runtime.failure import FunctionFailed
from ..runtime.section import Section
from ..schema.jacobian import (
    ElsewhereRecord,
    InfluenceLossRecord,
    InfluenceRecord,
    JacobianCellRecord,
    JacobianRecord,
    SideRecord,
    TensorRecord,
    TensorsRecord,
)
from ..schema.section import AskedRecord
from .common import STATUS_WORDS, ColumnArrays, ViewAnswer, failure_record, finite_or_none

_LEFT_OUT = "Which input reaches which output is not shown: that would take too long, or some input bears no gradient."
_SLOW = "Every call takes long, so only {} × {} cells of the Jacobian are measured at a time."


def jacobian_view(section: Section, question: Question, asked: AskedRecord) -> ViewAnswer:
    """The document: the block around ``of`` and ``wrt``, one row a cell, all per unit of ``grad_output``.

    Raises ``FunctionFailed`` where forward fails.
    """
    section, span = held_at(section, question.at), question.stop - question.start
    dependence = _dependence(section, question, span)
    block = jacobian(section, span, question.grad_output or 1.0, question.atol, question.rtol)
    worst = worst_jacobian_cell(block)
    left_out = [_LEFT_OUT] * (dependence is None) + [_SLOW.format(*block.shape)] * (block.slow and not block.whole)
    header: JacobianRecord = {
        **asked,
        "view": "jacobian",
        "notes": asked["notes"] + left_out,
        "sentence": _sentence(block, dependence, span),
        "at": block.at,
        "rows": _side(block.rows),
        "across": _side(block.columns),
        "tensors": _tensors(section, block, dependence),
        "pattern": sparsity_pattern(block),
        "together": block.together,
        "statuses": STATUS_WORDS,
        "differs": count_differing_cells(block),
        "designed": block.meant is not None and not block.meant.where(Status.DIFFERS).any(),
        "worst": _cell(worst) if worst else None,
        "elsewhere": _elsewhere(block),
        "influence": _influence(dependence) if dependence else None,
        "failure": failure_record(block.failure),
    }
    return header, _columns(block)


def _sentence(block: Jacobian, dependence: Dependence | None, span: float) -> str:
    """The sentence on the pair of tensors shown; if that is right and another pair is not, that one first."""
    shown, wrong = jacobian_sentence(block, span), ""
    if dependence and not block.failure and not count_differing_cells(block):
        wrong = other_tensors_sentence(dependence, block.rows.name, block.columns.name)
    if not wrong:
        return shown
    right = shown.startswith("backward returns what")
    return f"{wrong} {f'For {block.rows.name} by {block.columns.name} ' if right else ''}{shown}"


def _columns(block: Jacobian) -> ColumnArrays:
    """All cells in row-major order. NaN is not drawn; left and right are one-sided slopes at kinks."""
    slopes, (rows, columns) = block.numerical.slopes, block.shape
    hidden = np.isin(slopes.kind, (PointKind.JUMP, PointKind.KINK, PointKind.UNRESOLVED, PointKind.NONFINITE))
    numerical = np.where(hidden, np.nan, slopes.value)
    table: ColumnArrays = {
        "row": np.repeat(block.rows.elements, columns).astype(np.float64),
        "column": np.tile(block.columns.elements, rows).astype(np.float64),
        "numerical": numerical,
        "error": slopes.error,
        "left": np.where(slopes.kind == PointKind.KINK, slopes.left, np.nan),
        "right": np.where(slopes.kind == PointKind.KINK, slopes.right, np.nan),
        "status": block.numerical.status.astype(np.uint8),
    }
    if block.returned is not None:
        with np.errstate(invalid="ignore"):
            table |= {"returned": block.returned.ravel(), "difference": block.returned.ravel() - numerical}
    return table


def _side(side: ElementRange) -> SideRecord:
    return {"name": side.name, "shape": list(side.shape), "first": side.first, "count": side.count}


def _tensors(section: Section, block: Jacobian, dependence: Dependence | None) -> TensorsRecord:
    """The outputs and inputs that can be chosen, each with its first element."""
    outputs = (
        [ElementRange(*each, 0, 1) for each in zip(dependence.outputs, dependence.shapes, strict=True)]
        if dependence
        else [block.rows]
    )
    inputs = [_first_element(ElementRange(each.name, each.shape, 0, 1)) for each in section.op.inputs if each.values]
    parameters: list[TensorRecord] = [
        {"name": each.name, "first": each.name} for each in section.op.parameters if each.kind == "float"
    ]
    return {"of": [_first_element(each) for each in outputs if each.total], "wrt": inputs + parameters}


def _first_element(side: ElementRange) -> TensorRecord:
    return {"name": side.name, "first": side.label(0)}


def _cell(cell: DifferingCell) -> JacobianCellRecord:
    return {
        "of": cell.row,
        "wrt": cell.column,
        "numerical": finite_or_none(cell.numerical),
        "returned": finite_or_none(cell.returned),
    }


def _elsewhere(block: Jacobian) -> ElsewhereRecord | None:
    elsewhere = block.elsewhere
    if elsewhere is None:
        return None
    cell = elsewhere.worst and DifferingCell(
        block.rows.label(elsewhere.worst.row),
        block.columns.label(elsewhere.worst.column),
        elsewhere.worst.numerical,
        elsewhere.worst.returned,
    )
    return {
        "cells": elsewhere.cells,
        "judged": elsewhere.judged,
        "differs": elsewhere.differs,
        "more": elsewhere.more,
        "worst": _cell(cell) if cell else None,
    }


def _dependence(section: Section, question: Question, span: float) -> Dependence | None:
    try:
        return measure_dependence(section, _spans(section, span), question.grad_output or 1.0)
    except FunctionFailed:  # it needs gradients for all inputs; the Jacobian by one of them may still exist
        return None


def _influence(dependence: Dependence) -> InfluenceRecord:
    return {
        "inputs": list(dependence.inputs),
        "outputs": list(dependence.outputs),
        "losses": [_loss(dependence, place) for place in range(len(dependence.losses))],
    }


def _loss(dependence: Dependence, place: int) -> InfluenceLossRecord:
    loss = dependence.losses[place]
    return {
        "name": loss_name(dependence, loss),
        "outputs": list(loss.outputs),
        "links": [list(row) for row in loss.links],
        "returned": list(loss.returned),
        "sentence": dependence_sentence(dependence, loss),
        "failure": loss.failure or None,
    }


def _spans(section: Section, span: float) -> Callable[[str], float]:
    domains = {each.name: each.domain[1] - each.domain[0] for each in section.op.inputs}
    return lambda name: span if name == section.wrt else domains[name]
