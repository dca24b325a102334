"""Jacobian view: finite differences and backward cell by cell, and which output depends on which input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from ..numerics.differentiation.finite_differences import PointKind
from ..numerics.jacobian.dependence import Dependence, measure_dependence
from ..numerics.jacobian.dependence_text import dependence_sentence, loss_name, other_tensors_sentence
from ..numerics.jacobian.jacobian import ElementRange, Jacobian, held_at, jacobian
from ..numerics.jacobian.sparsity import sparsity_pattern
from ..numerics.jacobian.text import DifferingCell, count_differing_cells, jacobian_sentence, worst_jacobian_cell
from ..numerics.status import Status
from ..protocol.question import Question
from ..runtime.failure import FunctionFailed
from ..runtime.section import Section
from .columns import ColumnArrays, finite_or_none

_LEFT_OUT = "Which input reaches which output is not shown: that would take too long, or some input bears no gradient."
_SLOW = "Every call takes long, so only {} × {} cells of the Jacobian are measured at a time."
_WORDS = [status.name.lower() for status in Status]


def jacobian_view(section: Section, question: Question) -> tuple[dict[str, Any], ColumnArrays]:
    """The document: the block around ``of`` and ``wrt``, one row a cell, all per unit of ``grad_output``.

    Raises ``FunctionFailed`` where forward fails.
    """
    section, span = held_at(section, question.at), question.stop - question.start
    seen = _seen(section, question, span)
    found = jacobian(section, span, question.grad_output or 1.0, question.atol, question.rtol)
    apart = worst_jacobian_cell(found)
    return {
        "notes": [_LEFT_OUT] * (seen is None) + [_SLOW.format(*found.shape)] * (found.slow and not found.whole),
        "sentence": _sentence(found, seen, span),
        "at": found.at,
        "rows": _side(found.rows),
        "across": _side(found.columns),
        "tensors": _tensors(section, found, seen),
        "pattern": sparsity_pattern(found),
        "together": found.together,
        "statuses": _WORDS,
        "differs": count_differing_cells(found),
        "designed": found.meant is not None and not found.meant.where(Status.DIFFERS).any(),
        "worst": _apart(apart) if apart else None,
        "elsewhere": _elsewhere(found),
        "influence": _influence(seen) if seen else None,
        "failure": asdict(found.failure) if found.failure else None,
    }, _columns(found)


def _sentence(found: Jacobian, seen: Dependence | None, span: float) -> str:
    """The sentence on the pair of tensors shown; if that is right and another pair is not, that one first."""
    shown, wrong = jacobian_sentence(found, span), ""
    if seen and not found.failure and not count_differing_cells(found):
        wrong = other_tensors_sentence(seen, found.rows.name, found.columns.name)
    if not wrong:
        return shown
    right = shown.startswith("backward returns what")
    return f"{wrong} {f'For {found.rows.name} by {found.columns.name} ' if right else ''}{shown}"


def _columns(found: Jacobian) -> ColumnArrays:
    """All cells in row-major order. NaN is not drawn; left and right are one-sided slopes at kinks."""
    slopes, (rows, columns) = found.numerical.slopes, found.shape
    hidden = np.isin(slopes.kind, (PointKind.JUMP, PointKind.KINK, PointKind.UNRESOLVED, PointKind.NONFINITE))
    numerical = np.where(hidden, np.nan, slopes.value)
    drawn: ColumnArrays = {
        "row": np.repeat(found.rows.elements, columns).astype(np.float64),
        "column": np.tile(found.columns.elements, rows).astype(np.float64),
        "numerical": numerical,
        "error": slopes.error,
        "left": np.where(slopes.kind == PointKind.KINK, slopes.left, np.nan),
        "right": np.where(slopes.kind == PointKind.KINK, slopes.right, np.nan),
        "status": found.numerical.status.astype(np.uint8),
    }
    if found.returned is not None:
        with np.errstate(invalid="ignore"):
            drawn |= {"returned": found.returned.ravel(), "difference": found.returned.ravel() - numerical}
    return drawn


def _side(side: ElementRange) -> dict[str, Any]:
    return {"name": side.name, "shape": list(side.shape), "first": side.first, "count": side.count}


def _tensors(section: Section, found: Jacobian, seen: Dependence | None) -> dict[str, list[dict[str, str]]]:
    """The outputs and inputs that can be chosen, each with its first element."""
    outputs = (
        [ElementRange(*each, 0, 1) for each in zip(seen.outputs, seen.shapes, strict=True)] if seen else [found.rows]
    )
    inputs = [_first(ElementRange(each.name, each.shape, 0, 1)) for each in section.op.inputs if each.values]
    floats = [{"name": each.name, "first": each.name} for each in section.op.parameters if each.kind == "float"]
    return {"of": [_first(each) for each in outputs if each.total], "wrt": inputs + floats}


def _first(side: ElementRange) -> dict[str, str]:
    return {"name": side.name, "first": side.label(0)}


def _apart(found: DifferingCell) -> dict[str, Any]:
    return {
        "of": found.row,
        "wrt": found.column,
        "numerical": finite_or_none(found.numerical),
        "returned": finite_or_none(found.returned),
    }


def _elsewhere(found: Jacobian) -> dict[str, Any] | None:
    seen = found.elsewhere
    if seen is None:
        return None
    cell = seen.worst and DifferingCell(
        found.rows.label(seen.worst.row),
        found.columns.label(seen.worst.column),
        seen.worst.numerical,
        seen.worst.returned,
    )
    return {
        "cells": seen.cells,
        "judged": seen.judged,
        "differs": seen.differs,
        "more": seen.more,
        "worst": _apart(cell) if cell else None,
    }


def _seen(section: Section, question: Question, span: float) -> Dependence | None:
    try:
        return measure_dependence(section, _spans(section, span), question.grad_output or 1.0)
    except FunctionFailed:  # it needs gradients for all inputs; the Jacobian by one of them may still exist
        return None


def _influence(seen: Dependence) -> dict[str, Any]:
    return {
        "inputs": list(seen.inputs),
        "outputs": list(seen.outputs),
        "losses": [_loss(seen, place) for place in range(len(seen.losses))],
    }


def _loss(seen: Dependence, place: int) -> dict[str, Any]:
    loss = seen.losses[place]
    return {
        "name": loss_name(seen, loss),
        "outputs": list(loss.outputs),
        "links": [list(row) for row in loss.links],
        "returned": list(loss.returned),
        "sentence": dependence_sentence(seen, loss),
        "failure": loss.failure or None,
    }


def _spans(section: Section, span: float) -> Callable[[str], float]:
    domains = {each.name: each.domain[1] - each.domain[0] for each in section.op.inputs}
    return lambda name: span if name == section.wrt else domains[name]
