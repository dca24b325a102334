"""The judge of a curve: a status for every row and cell of it, and the intervals in which backward differs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from ...runtime.arrays import (
    Array,
    Interval,
    Mask,
    consecutive_differences,
    finite_numbers,
    finite_rise,
    largest_magnitude,
    longest_run,
    unbroken_runs,
)
from ..curve.curve import Curve
from ..curve.evaluation import Difference, Evaluation, differences_at_rows
from ..curve.integral_check import IntegralCheck
from ..differentiation.finite_differences import PointKind, Slopes
from ..status import AGREEING, STATUS_WORDS, Status
from ..tolerance import ALIKE_SHARE, REMARK_SHARE, SMALL, Allowed
from .cell_judge import judge_cells
from .closer_look import look_closely
from .slope_judge import Statuses, judge_slopes

_NO_CELLS: Statuses = np.empty(0, np.int8)  # unit: where nothing was returned there is nothing to judge
# pattern: two intervals no farther apart than this many grid cells are joined if no point between them agrees.
_MAX_BRIDGE = 2.0


@dataclass(frozen=True)
class Comparison:
    """A status a row and a cell between rows, where backward differs, and the row where it differs most.

    ``cells`` is empty where backward returned nothing. Where only cells differ, ``worst`` is None and ``worst_cell``
    the one with the steepest residual. Where all that differs is too small to be more than a ``remark``, that is the
    largest of it by its place, and nothing counts as differing.
    """

    status: Statuses
    cells: Statuses
    intervals: tuple[Interval, ...]
    worst: int | None
    worst_cell: int | None
    remark: Difference | None = None

    def count(self, *statuses: int) -> int:
        """How many rows have one of these statuses."""
        return sum(self._counts[status] for status in statuses)

    @cached_property
    def _counts(self) -> list[int]:
        counts: list[int] = np.bincount(self.status, minlength=len(STATUS_WORDS)).tolist()
        return counts


def judge_curve(
    evaluation: Evaluation,
    curve: Curve,
    allowed: Allowed,
    closely: bool = True,
) -> Comparison:
    """What backward returned against the slopes of ``curve`` at the rows, and against its rise between them.

    Where remarks are ``allowed``, differences of at most ``REMARK_SHARE`` of the largest slope near each of them are
    one. Looked at ``closely``, what differs has to do so on the smallest scale, too.
    """
    analytical, slopes = evaluation.analytical, curve.slopes
    if analytical is None:
        return Comparison(np.full(slopes.kind.shape, Status.GAP, np.int8), _NO_CELLS, (), None, None)
    with np.errstate(all="ignore"):
        off = np.abs(analytical - evaluation.grad_output * slopes.value)
        allowed = allowed_along(evaluation, curve, allowed)
        status = judge_returned(evaluation, analytical, slopes, allowed)
        finite = np.isfinite(evaluation.forward)
        if not finite.all():
            status[~finite & (slopes.kind != PointKind.JUMP)] = Status.GAP
        certain = (status == Status.DIFFERS) & _accused_by_range(evaluation)
        area, cells = evaluation.area_under(curve), _NO_CELLS
        if area is not None:
            steepest = min(evaluation.largest_gradient, largest_magnitude(analytical))
            cells = judge_cells(area, allowed, steepest, evaluation.grad_output)
        if area is not None and cells.size == status.size - 1 and (status == Status.DIFFERS).any():
            status[(status == Status.DIFFERS) & _moves_too_finely(evaluation, analytical, off, slopes, cells)] = (
                Status.UNDECIDED
            )
        remark = _settled_remark(evaluation, curve, status, cells, allowed)
        hurried, draws = evaluation.hurried, evaluation.section.one_draw
        repeats = not (hurried or draws or evaluation.linearity.breaks("repeats"))
        if closely and repeats and evaluation.grad_output:
            look_closely(evaluation, curve, status, cells, allowed)
            status[certain & (remark is None)] = Status.DIFFERS
            remark = _settled_remark(evaluation, curve, status, cells, allowed) or remark
        differs = status == Status.DIFFERS
        if not (differs.any() or (cells == Status.DIFFERS).any()):
            return Comparison(status, cells, (), None, None, remark)
        if area is not None:  # a rise that rounding hides confirms nothing between two slopes that contradict
            ends = differs[area.ends]
            cells[ends[:-1] & ends[1:] & (cells == Status.AGREES)] = Status.UNDECIDED
        smooth = differs & (slopes.kind == PointKind.SMOOTH)
        worst = _worst_row(off, smooth if smooth.any() else differs)
        intervals = _union(_intervals(evaluation.rows.x, status), cell_intervals(area, cells))
        intervals = _bridge(intervals, evaluation.rows.x, status, evaluation.grid.span / evaluation.grid.count)
        return Comparison(status, cells, intervals, worst, None if differs.any() else _worst_cell(area, cells))


def _accused_by_range(evaluation: Evaluation) -> Mask:
    """The rows where the check of the whole range has looked closely already, and found that backward differs."""
    wide = evaluation.whole_range
    if wide is None or not wide.intervals:
        return np.zeros(evaluation.rows.x.size, bool)
    return np.isin(evaluation.rows.x, wide.x[wide.status == Status.DIFFERS])


def _settled_remark(
    evaluation: Evaluation, curve: Curve, status: Statuses, cells: Statuses, allowed: Allowed
) -> Difference | None:
    """The remark, if one is allowed and all that differs is one: then it agrees, and what is in doubt stays so."""
    differ = [each == Status.DIFFERS for each in (status, cells)]
    if not allowed.remarks or not any(each.any() for each in differ):
        return None
    if remark := _remark(evaluation, curve, status, cells):
        status[differ[0]], cells[differ[1]] = Status.AGREES, Status.AGREES
    return remark


def _remark(evaluation: Evaluation, curve: Curve, status: Statuses, cells: Statuses) -> Difference | None:
    """The largest difference by its place, where all are small; in a cell it is the mean. None if not all are."""
    rows = differences_at_rows(evaluation, curve)
    found, nearby = [each[status == Status.DIFFERS] for each in rows], rows[-1]
    if (area := evaluation.area_under(curve)) is not None:
        wrong, width = cells == Status.DIFFERS, area.right - area.left
        ends = np.maximum(nearby[area.ends[:-1]], nearby[area.ends[1:]])
        means = (area.left + width / 2, np.abs(area.residual) / width, area.rise / width, ends)
        found = [np.append(some, each[wrong]) for some, each in zip(found, means, strict=True)]
    share = found[1] / found[3]
    if not share.size or not (share <= REMARK_SHARE).all():
        return None
    return Difference(*(float(each[share.argmax()]) for each in found))


def _moves_too_finely(evaluation: Evaluation, analytical: Array, off: Array, slopes: Slopes, cells: Statuses) -> Mask:
    """Where forward moves too finely for any difference, and the cells on both sides were not understood either.

    Steps between which it is flat look like a slope, and a wave that is faster than the rows like none.
    """
    steps = np.concatenate(([True], cells == Status.JUMP, [True]))
    vague = np.concatenate(([True], np.isin(cells, (Status.JUMP, Status.UNDECIDED)), [True]))
    gross = off > SMALL * np.abs(evaluation.grad_output * slopes.value)
    cell = evaluation.grid.span / evaluation.rows.x.size
    rise = finite_rise(evaluation.numerical.values)
    fast = np.abs(analytical) * cell > 2 * np.abs(evaluation.grad_output) * rise
    hidden = steps[:-1] & steps[1:] & gross | vague[:-1] & vague[1:] & fast
    return hidden & (slopes.kind == PointKind.SMOOTH) & np.isfinite(analytical)


def judge_returned(evaluation: Evaluation, returned: Array, slopes: Slopes, allowed: Allowed) -> Statuses:
    """A status for what backward ``returned`` at some points of the range, against the ``slopes`` there."""
    # A constant has no slope to measure error bounds by, but it has a height.
    height = abs(evaluation.grad_output) * largest_magnitude(evaluation.numerical.values) / evaluation.grid.span
    largest = evaluation.largest_gradient + height
    return judge_slopes(returned, slopes, evaluation.grad_output, allowed, evaluation.section.dtype, largest)


def allowed_along(evaluation: Evaluation, curve: Curve, allowed: Allowed) -> Allowed:
    """What is ``allowed`` at the rows of a curve, with what a slope is off there as ``x`` is rounded."""
    return replace(allowed, rounded=conditioning(evaluation, curve.slopes))


def conditioning(evaluation: Evaluation, slopes: Slopes) -> Array:
    """The change of each slope when ``x`` moves by half an ulp of the dtype: no backward can be more accurate.

    A slope changes with the curvature at its point, and as on the way to the next row, on which there may be a kink.
    """
    x, value = evaluation.rows.x, slopes.value
    turn = np.abs(consecutive_differences(value) / consecutive_differences(x))
    turn[~np.isfinite(turn)] = 0.0
    steepest = finite_numbers(slopes.curvature).copy()
    np.maximum(steepest[1:], turn, out=steepest[1:])
    np.maximum(steepest[:-1], turn, out=steepest[:-1])
    return torch.finfo(evaluation.section.dtype).eps / 2 * np.abs(x) * steepest


def _worst_row(off: Array, differs: Mask) -> int | None:
    """The row that is furthest off; of a whole stretch that is equally so, the one in its middle."""
    if not differs.any():
        return None
    off = np.where(differs, np.where(np.isfinite(off), off, np.inf), -1.0)
    first, last = longest_run(off >= (1 - ALIKE_SHARE) * off.max())
    return (first + last + 1) // 2


def _intervals(x: Array, status: NDArray[np.int8]) -> tuple[Interval, ...]:
    """Where neighbouring rows differ, out to the kink or jump that ends each run."""
    merged: list[Interval] = []
    for first, last in unbroken_runs(status == Status.DIFFERS):
        low, high = float(x[_end_row(status, first, -1)]), float(x[_end_row(status, last, 1)])
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return tuple(merged)


def _end_row(status: NDArray[np.int8], row: int, towards: int) -> int:
    """The row that ends a run: the special point next to ``row``, else the last row beside an edge, else itself."""
    neighbour, end = row + towards, row
    while 0 <= neighbour < status.size and status[neighbour] in (Status.EDGE, Status.GAP):
        end = neighbour if status[neighbour] == Status.EDGE else end
        neighbour += towards
    if 0 <= neighbour < status.size and status[neighbour] in (Status.SUBGRADIENT, Status.JUMP, Status.UNDECIDED):
        beyond = neighbour + towards  # so near a kink a slope may look like a jump
        return beyond if 0 <= beyond < status.size and status[beyond] == Status.SUBGRADIENT else neighbour
    return end


def cell_intervals(area: IntegralCheck | None, cells: Statuses) -> tuple[Interval, ...]:
    """Where neighbouring cells differ."""
    if area is None:
        return ()
    return tuple(
        (float(area.left[first]), float(area.right[last])) for first, last in unbroken_runs(cells == Status.DIFFERS)
    )


def _union(first: tuple[Interval, ...], second: tuple[Interval, ...]) -> tuple[Interval, ...]:
    """The union of intervals; of ``second`` only those that touch none of ``first``, whose ends are known better."""
    separate = [each for each in second if not any(low <= each[1] and high >= each[0] for low, high in first)]
    return tuple(sorted((*first, *separate)))


def _bridge(intervals: tuple[Interval, ...], x: Array, status: Statuses, cell: float) -> tuple[Interval, ...]:
    """The intervals, taken together where no point between two of them is right, and few are there."""
    merged: list[Interval] = []
    for low, high in intervals:
        if merged and low - merged[-1][1] <= _MAX_BRIDGE * cell:
            between = status[(x > merged[-1][1]) & (x < low)]
            if not np.isin(between, AGREEING).any():
                merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
                continue
        merged.append((low, high))
    return tuple(merged)


def _worst_cell(area: IntegralCheck | None, cells: Statuses) -> int | None:
    differs = cells == Status.DIFFERS
    if area is None or not differs.any():
        return None
    return int(np.where(differs, np.abs(area.residual) / (area.right - area.left), -1.0).argmax())
