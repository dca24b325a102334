"""Hypotheses for a Jacobian that differs: zero, a multiple, the diagonal alone, transposed, that of another input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...runtime.arrays import Array, Mask, largest_magnitude
from ...runtime.batching import batched_copies
from ...runtime.failure import FunctionFailed
from ..differentiation.finite_differences import EVIDENCE_BOUNDS, PointKind
from ..formatting.constants import format_measured
from ..sentences.places import join_words
from ..status import Status
from .cells import BasePoint, jacobian_slopes
from .jacobian import Jacobian
from .sparsity import dependence_mask, element_positions

# A hypothesis has to fit within this share of the largest slope.
_ALIKE = 1e-6


def diagnose_jacobian(jacobian: Jacobian, span: float) -> str:
    """One sentence on what backward returns instead, or where; empty if there is none."""
    if jacobian.returned is None or not jacobian.numerical.where(Status.DIFFERS).any():
        return ""
    stories: tuple[Callable[[Jacobian], str], ...] = (_blocked, _factor, _diagonal, _transposed)
    for story in stories:
        if said := story(jacobian):
            return said
    return _other_input(jacobian, span) or _lines(jacobian)


def _blocked(jacobian: Jacobian) -> str:
    assert jacobian.returned is not None
    if jacobian.returned.any():
        return ""
    what = "None, which autograd takes for 0," if jacobian.none else "0"
    return f"backward returns {what} for {jacobian.columns.name}: nothing gets through."


def _factor(jacobian: Jacobian) -> str:
    """The same multiple of every slope."""
    assert jacobian.returned is not None
    value = _value(jacobian)
    some = dependence_mask(jacobian) & _known(jacobian)
    if some.sum() < 2:
        return ""
    factor = float(np.median(jacobian.returned[some] / value[some]))
    if not factor or not _alike(jacobian, factor * value):
        return ""
    said = format_measured(factor, _ALIKE * abs(factor))
    if said == "−1":
        return "backward returns every slope with its sign reversed."
    return f"backward returns {said} times every slope."


def _diagonal(jacobian: Jacobian) -> str:
    row, column = element_positions(jacobian)
    if not (row == column).any() or not (dependence_mask(jacobian) & (row != column)).any():
        return ""
    if not _alike(jacobian, np.where(row == column, _value(jacobian), 0.0)):
        return ""
    return "backward returns the diagonal alone: what every element does to the others is left out."


def _transposed(jacobian: Jacobian) -> str:
    if not jacobian.whole or jacobian.rows.total != jacobian.columns.total or jacobian.rows.total < 2:
        return ""
    return "backward returns the Jacobian transposed." if _alike(jacobian, _value(jacobian).T) else ""


def _other_input(jacobian: Jacobian, span: float) -> str:
    """What backward returns is the derivative by another input of as many elements."""
    section, columns = jacobian.section, jacobian.columns
    for name, held in section.inputs:
        if name == section.wrt or len(held) != columns.total:
            continue
        other = replace(section, wrt=name, wrt_index=())
        try:
            rows = jacobian.rows
            some = replace(batched_copies(other, span), only=(rows.first, rows.first + rows.count))
            value = jacobian_slopes(BasePoint.plain(some, span), np.arange(rows.count), columns.elements).value
            value = value.reshape(jacobian.shape)
        except FunctionFailed:
            continue
        if value.any() and _alike(jacobian, value):
            return f"What backward returns for {section.wrt} is the derivative by {name}: are the two swapped?"
    return ""


def _lines(jacobian: Jacobian) -> str:
    """The few rows or columns that all of what differs lies in."""
    differs = jacobian.numerical.where(Status.DIFFERS).reshape(jacobian.shape)
    for axis, side in ((1, jacobian.rows), (0, jacobian.columns)):
        which = np.flatnonzero(differs.any(axis=axis))
        if differs.sum() > 1 and which.size <= min(3, side.count // 2):
            labels = join_words([side.label(side.first + int(each)) for each in which])
            return f"All of that is {'in the derivatives of' if axis else 'by'} {labels}."
    return ""


def _value(jacobian: Jacobian) -> Array:
    return jacobian.numerical.slopes.value.reshape(jacobian.shape)


def _known(jacobian: Jacobian) -> Mask:
    known: Mask = jacobian.numerical.slopes.kind.reshape(jacobian.shape) == PointKind.SMOOTH
    return known


def _alike(jacobian: Jacobian, wanted: Array) -> bool:
    """Whether backward returns this, wherever the slopes are known."""
    assert jacobian.returned is not None
    value, error = _value(jacobian), jacobian.numerical.slopes.error.reshape(jacobian.shape)
    known = _known(jacobian) & np.isfinite(wanted)
    with np.errstate(all="ignore"):
        off = np.abs(jacobian.returned - wanted)[known]
        return bool(known.any() and (off <= _ALIKE * largest_magnitude(value) + EVIDENCE_BOUNDS * error[known]).all())
