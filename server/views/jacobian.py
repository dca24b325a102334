"""Jacobian view: finite differences and backward cell by cell, and which output depends on which input."""

from __future__ import annotations

import numpy as np

from ..numerics.differentiation.finite_differences import PointKind
from ..numerics.jacobian.dependence import Dependence, measure_dependence
from ..numerics.jacobian.jacobian import ElementRange, Jacobian, jacobian
from ..numerics.jacobian.sparsity import sparsity_pattern
from ..numerics.jacobian.text import (
    count_differing_cells,
    dependence_sentences,
    jacobian_sentence,
    loss_name,
    other_tensors_sentence,
    worst_jacobian_cell,
)
from ..numerics.status import Status
from ..protocol.question import Question
from ..runtime.failure import FunctionFailed
from ..runtime.section import Section
from ..schema.section import AskedRecord
from ..schema.views import InfluenceLossRecord, InfluenceRecord, Sent
from .common import ColumnArrays, ViewAnswer, record_of, view_answer

_LEFT_OUT = "Which input reaches which output is not shown: that would take too long, or some input bears no gradient."
_SLOW = "Every call takes long, so only {} × {} cells of the Jacobian are measured at a time."


def jacobian_view(section: Section, question: Question, asked: AskedRecord) -> ViewAnswer:
    """The document: the block around ``of`` and ``wrt``, one row a cell, all per unit of ``grad_output``.

    Raises ``FunctionFailed`` where forward fails.
    """
    section = section if question.at is None else section.holding(section.wrt, question.at)
    span = question.stop - question.start
    dependence = _dependence(section, question, span)
    block = jacobian(section, span, question.grad_output or 1.0, question.atol, question.rtol)
    left_out = [_LEFT_OUT] * (dependence is None) + [_SLOW.format(*block.shape)] * (block.slow and not block.whole)
    return view_answer(
        asked,
        block,
        also=_columns(block),
        notes=asked["notes"] + left_out,
        sentence=_sentence(block, dependence, span),
        tensors=_tensors(section, block, dependence),
        pattern=sparsity_pattern(block),
        differs=count_differing_cells(block),
        designed=block.meant is not None and not block.meant.where(Status.DIFFERS).any(),
        worst=worst_jacobian_cell(block),
        influence=dependence and _influence(dependence),
    )


def _sentence(block: Jacobian, dependence: Dependence | None, span: float) -> str:
    """The sentence on the pair of tensors shown; if that is right and another pair is not, that one first."""
    shown, wrong = jacobian_sentence(block, span), ""
    if dependence and not block.failure and not count_differing_cells(block):
        wrong = other_tensors_sentence(dependence, block.rows.name, block.across.name)
    return f"{wrong} {shown}".lstrip()


def _columns(block: Jacobian) -> ColumnArrays:
    """All cells in row-major order. NaN is not drawn; left and right are one-sided slopes at kinks."""
    slopes, (rows, columns) = block.numerical.slopes, block.shape
    hidden = np.isin(slopes.kind, (PointKind.JUMP, PointKind.KINK, PointKind.UNRESOLVED, PointKind.NONFINITE))
    numerical = np.where(hidden, np.nan, slopes.value)
    table: ColumnArrays = {
        "row": np.repeat(block.rows.elements, columns).astype(np.float64),
        "column": np.tile(block.across.elements, rows).astype(np.float64),
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


def _tensors(section: Section, block: Jacobian, dependence: Dependence | None) -> dict[str, list[Sent]]:
    """The outputs and inputs that can be chosen, each with its first element."""
    outputs = (
        [ElementRange(*each, 0, 1) for each in zip(dependence.outputs, dependence.shapes, strict=True)]
        if dependence
        else [block.rows]
    )
    inputs = [_first_element(ElementRange(each.name, each.shape, 0, 1)) for each in section.op.inputs if each.values]
    parameters = [{"name": each.name, "first": each.name} for each in section.op.parameters if each.kind == "float"]
    return {"of": [_first_element(each) for each in outputs if each.total], "wrt": inputs + parameters}


def _first_element(side: ElementRange) -> Sent:
    return {"name": side.name, "first": side.label(0)}


def _dependence(section: Section, question: Question, span: float) -> Dependence | None:
    spans = {each.name: each.domain[1] - each.domain[0] for each in section.op.inputs} | {section.wrt: span}
    asked = question.grad_output or 1.0, question.atol, question.rtol
    try:
        return measure_dependence(section, spans, *asked)
    except FunctionFailed:  # it needs gradients for all inputs; the Jacobian by one of them may still exist
        return None


def _influence(dependence: Dependence) -> InfluenceRecord:
    losses = [
        record_of(
            each,
            InfluenceLossRecord,
            name=loss_name(each),
            sentence=" ".join(dependence_sentences(dependence, each)),
            failure=each.failure or None,
        )
        for each in dependence.losses
    ]
    return record_of(dependence, InfluenceRecord, losses=losses)
