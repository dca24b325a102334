"""Hypotheses for a Jacobian that differs: zero, a multiple, the diagonal alone, transposed, that of another input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...protocol.listed import listed
from ...runtime.arrays import Array, Mask, largest_magnitude
from ...runtime.batching import batched_copies
from ...runtime.failure import FunctionFailed
from ..differentiation.finite_differences import EVIDENCE_BOUNDS, PointKind
from ..formatting.numbers import format_measured
from ..status import Status
from .cells import BasePoint, jacobian_slopes
from .jacobian import Jacobian
from .sparsity import dependence_mask, element_positions

_RTOL = 1e-6  # bound: a hypothesis has to fit within this share of the largest slope, besides the error bounds


def diagnose_jacobian(jacobian: Jacobian, span: float) -> str:
    """One sentence on what backward returns instead, or where; empty if there is none."""
    if jacobian.returned is None or not jacobian.numerical.where(Status.DIFFERS).any():
        return ""
    hypotheses: tuple[Callable[[Jacobian], str], ...] = (_zero_gradient, _constant_factor, _diagonal_only, _transposed)
    for hypothesis in hypotheses:
        if sentence := hypothesis(jacobian):
            return sentence
    return _other_input(jacobian, span) or _rows_or_columns(jacobian)


def _zero_gradient(jacobian: Jacobian) -> str:
    assert jacobian.returned is not None
    if jacobian.returned.any():
        return ""
    what = "None, which autograd takes for 0," if jacobian.none else "0"
    return f"backward returns {what} for {jacobian.across.name}: no gradient gets through."


def _constant_factor(jacobian: Jacobian) -> str:
    """The same multiple of every slope."""
    assert jacobian.returned is not None
    value = _slopes(jacobian)
    cells = dependence_mask(jacobian) & _smooth(jacobian)
    if cells.sum() < 2:
        return ""
    factor = float(np.median(jacobian.returned[cells] / value[cells]))
    if not factor or not _matches(jacobian, factor * value):
        return ""
    text = format_measured(factor, _RTOL * abs(factor))
    if text == "−1":
        return "backward returns every slope with its sign reversed."
    return f"backward returns {text} times every slope."


def _diagonal_only(jacobian: Jacobian) -> str:
    row, column = element_positions(jacobian)
    if not (row == column).any() or not (dependence_mask(jacobian) & (row != column)).any():
        return ""
    if not _matches(jacobian, np.where(row == column, _slopes(jacobian), 0.0)):
        return ""
    return "backward returns the diagonal alone: what every element does to the others is left out."


def _transposed(jacobian: Jacobian) -> str:
    if not jacobian.whole or jacobian.rows.total != jacobian.across.total or jacobian.rows.total < 2:
        return ""
    return "backward returns the Jacobian transposed." if _matches(jacobian, _slopes(jacobian).T) else ""


def _other_input(jacobian: Jacobian, span: float) -> str:
    """What backward returns is the derivative by another input of as many elements."""
    section, columns = jacobian.section, jacobian.across
    for name, values in section.inputs:
        if name == section.wrt or len(values) != columns.total:
            continue
        other = replace(section, wrt=name, wrt_index=())
        try:
            rows = jacobian.rows
            batch = replace(batched_copies(other, span), only=(rows.first, rows.first + rows.count))
            value = jacobian_slopes(BasePoint.plain(batch, span), np.arange(rows.count), columns.elements).value
            value = value.reshape(jacobian.shape)
        except FunctionFailed:
            continue
        if value.any() and _matches(jacobian, value):
            return f"What backward returns for {section.wrt} is the derivative by {name}: are the two swapped?"
    return ""


def _rows_or_columns(jacobian: Jacobian) -> str:
    """The few rows or columns that all of what differs lies in."""
    differs = jacobian.numerical.where(Status.DIFFERS).reshape(jacobian.shape)
    for axis, side in ((1, jacobian.rows), (0, jacobian.across)):
        which = np.flatnonzero(differs.any(axis=axis))
        if differs.sum() > 1 and which.size <= min(3, side.count // 2):
            labels = listed([side.label(side.first + int(each)) for each in which])
            return f"All of that is {'in the derivatives of' if axis else 'by'} {labels}."
    return ""


def _slopes(jacobian: Jacobian) -> Array:
    return jacobian.numerical.slopes.value.reshape(jacobian.shape)


def _smooth(jacobian: Jacobian) -> Mask:
    known: Mask = jacobian.numerical.slopes.kind.reshape(jacobian.shape) == PointKind.SMOOTH
    return known


def _matches(jacobian: Jacobian, expected: Array) -> bool:
    """Whether backward returns this, wherever the slopes are known."""
    assert jacobian.returned is not None
    value, error = _slopes(jacobian), jacobian.numerical.slopes.error.reshape(jacobian.shape)
    smooth = _smooth(jacobian) & np.isfinite(expected)
    with np.errstate(all="ignore"):
        off = np.abs(jacobian.returned - expected)[smooth]
        return bool(smooth.any() and (off <= _RTOL * largest_magnitude(value) + EVIDENCE_BOUNDS * error[smooth]).all())
