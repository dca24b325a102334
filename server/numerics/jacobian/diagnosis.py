"""Hypotheses for a Jacobian that differs: zero, a multiple, the diagonal alone, transposed, that of another input."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np

from ...protocol.listed import listed
from ...runtime.arrays import Array, largest_magnitude
from ...runtime.batching import batched_rows
from ...runtime.failure import FunctionFailed
from ..differentiation.finite_differences import EVIDENCE_BOUNDS, PointKind
from ..differentiation.map_slopes import BasePoint, jacobian_slopes
from ..formatting.numbers import format_measured
from ..status import Status
from ..tolerance import ALIKE_SHARE
from .jacobian import Jacobian
from .sparsity import dependence_mask, element_positions


def diagnose_jacobian(jacobian: Jacobian, span: float) -> str:
    """One sentence on what backward returns instead, or where; empty if there is none."""
    if jacobian.returned is None or not jacobian.numerical.where(Status.DIFFERS).any():
        return ""
    if not jacobian.returned.any():
        what = "None, which autograd takes for 0," if jacobian.none else "0"
        return f"backward returns {what} for {jacobian.across.name}: no gradient gets through."
    fits = (sentence for expected, sentence in _candidates(jacobian, span) if _matches(jacobian, expected))
    return next(fits, "") or _rows_or_columns(jacobian)


def _candidates(jacobian: Jacobian, span: float) -> Iterator[tuple[Array, str]]:
    """What backward may return instead, from the simplest on, each with the sentence that says so."""
    assert jacobian.returned is not None
    slopes, depends, (row, column) = jacobian.numerical.slopes, dependence_mask(jacobian), element_positions(jacobian)
    value = slopes.value.reshape(jacobian.shape)
    cells = depends & (slopes.kind == PointKind.SMOOTH).reshape(jacobian.shape)
    if np.count_nonzero(cells) > 1 and (factor := float(np.median(jacobian.returned[cells] / value[cells]))):
        times = format_measured(factor, ALIKE_SHARE * abs(factor))
        said = f"{times} times every slope" if times != "−1" else "every slope with its sign reversed"
        yield factor * value, f"backward returns {said}."
    if (row == column).any() and (depends & (row != column)).any():
        diagonal = np.where(row == column, value, 0.0)
        yield diagonal, "backward returns the diagonal alone: what every element does to the others is left out."
    if jacobian.whole and jacobian.rows.total == jacobian.across.total > 1:
        yield value.T, "backward returns the Jacobian transposed."
    section, rows = jacobian.section, jacobian.rows
    for name, values in section.inputs:
        if name == section.wrt or len(values) != jacobian.across.total:
            continue
        with suppress(FunctionFailed):
            copies = batched_rows(replace(section, wrt=name, wrt_index=()), span)
            ground = BasePoint.plain(copies, span, only=slice(rows.first, rows.first + rows.count))
            other = jacobian_slopes(ground, np.arange(rows.count), jacobian.across.elements).value
            if other.any():
                swapped = f"What backward returns for {section.wrt} is the derivative by {name}: are the two swapped?"
                yield other.reshape(jacobian.shape), swapped


def _rows_or_columns(jacobian: Jacobian) -> str:
    """The few rows or columns that all of what differs lies in."""
    differs = jacobian.numerical.where(Status.DIFFERS).reshape(jacobian.shape)
    for axis, side in ((1, jacobian.rows), (0, jacobian.across)):
        which = np.flatnonzero(differs.any(axis=axis))
        if differs.sum() > 1 and which.size <= min(3, side.count // 2):
            labels = listed([side.label(side.first + int(each)) for each in which])
            return f"All of that is {'in the derivatives of' if axis else 'by'} {labels}."
    return ""


def _matches(jacobian: Jacobian, expected: Array) -> bool:
    """Whether backward returns this, wherever the slopes are known."""
    assert jacobian.returned is not None
    slopes, expected, returned = jacobian.numerical.slopes, expected.ravel(), jacobian.returned.ravel()
    smooth = (slopes.kind == PointKind.SMOOTH) & np.isfinite(expected)
    with np.errstate(all="ignore"):
        allowed = ALIKE_SHARE * largest_magnitude(slopes.value) + EVIDENCE_BOUNDS * slopes.error
        return bool(smooth.any() and (np.abs(returned - expected) <= allowed)[smooth].all())
