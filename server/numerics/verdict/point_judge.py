"""The comparison of backward with a curve: a status for every point and cell, and the intervals that differ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from ...runtime.arrays import (
    Array,
    Forward,
    Interval,
    Mask,
    consecutive_differences,
    finite_numbers,
    largest_magnitude,
    unit_shares,
)
from ..curve.curve import Curve, nan_outside_domain
from ..curve.evaluate import is_another
from ..curve.evaluation import Evaluation
from ..curve.integral_check import IntegralCheck
from ..differentiation.confirmation import SHARE_SEEN, Closeness, Dispute, confirmed, slopes_seen_closely, wavers
from ..differentiation.finite_differences import PointKind, Slopes
from ..status import Status
from ..tolerance import REMARK_SHARE, UNDECIDED_SHARE, Tolerance
from .slope_judge import Statuses, judge_slopes

# sample: cells are judged alone and in runs of these lengths: a small error everywhere adds up over a run, while
# rounding enters only at its two ends.
_RUNS = (1, 4, 16, 64)
_NO_CELLS: Statuses = np.empty(0, np.int8)  # unit: where nothing was returned there is nothing to judge
# pattern: two intervals no farther apart than this many grid cells are joined if no point between them agrees.
_MAX_BRIDGE = 2.0
# budget: at most so many of the rows that differ are looked at closer, fewer where each point costs a call of its own;
# the others follow the nearest of them. And of a cell so many parts, the worst of which is divided again so often.
_MOST_CONFIRMED, _MOST_CELLS, _MOST_CONFIRMED_ALONE, _PARTS, _PARTS_ALONE, _LEVELS = 32, 150, 3, 16, 4, 3
_MIN_PARTS = 2  # pattern: a cell differs inside if so many of its parts do
_GROSS = 1e-6  # pattern: differences converge to a slope that is off by less than this share by no chance
_TIED = 0.999  # pattern: rows within this share of the largest error count as equally bad


def judge_cells(
    area: IntegralCheck, tolerance: Tolerance, share: Array, largest_gradient: float, slope_error: Array
) -> Statuses:
    """A status a cell: whether forward rises by the area under what backward returned.

    ``largest_gradient`` is the largest ``grad_input`` that is called for and returned, ``share`` how much of the
    tolerance holds at each end of a cell, ``slope_error`` how far a slope is off there because ``x`` and the gradient
    are rounded.
    """
    with np.errstate(all="ignore"):
        width = area.right - area.left
        off, atol = area.residual, tolerance.atol * np.maximum(share[:-1], share[1:])
        slack = width * (atol + np.maximum(slope_error[:-1], slope_error[1:])) + tolerance.rtol * area.size
        slack += area.unsure
        finite = np.isfinite(off)
        whole = finite & ~area.leaps
        status = np.full(off.shape, Status.UNDECIDED, np.int8)
        if not whole.all():
            status[~finite], status[finite & area.leaps] = Status.GAP, Status.JUMP
            off = np.where(whole, off, 0.0)
        # Cells that leave no more than is allowed leave none in runs either.
        calm = whole.all() and (np.abs(off) <= slack).all()
        for length in _RUNS:
            _judge_runs(status, whole, np.stack((off, slack, width * largest_gradient)), area.noise, length)
            if calm and (status == Status.AGREES).all():
                break
    return status


def allowed_residual(area: IntegralCheck, tolerance: Tolerance) -> Array:
    """The largest residual that each cell may have and still agree."""
    slack = (area.right - area.left) * tolerance.atol + tolerance.rtol * area.size
    return slack + area.unsure + area.noise[:-1] + area.noise[1:]


def _judge_runs(status: Statuses, whole: Mask, cells: Array, noise: Array, length: int) -> None:
    """Judge all runs of ``length`` cells with no gap and no culprit in them; the verdict holds for all its cells.

    ``cells`` are the residual of each, what is allowed of it, and how much the steepest gradient makes of its width.
    The last run ends with the last cell.
    """
    if length > status.size:
        return
    firsts = np.unique(np.append(np.arange(0, status.size - length + 1, length), status.size - length))
    members = firsts[:, None] + np.arange(length)
    off, slack, steepest = cells[:, members].sum(axis=2)
    unbroken = (whole & (status != Status.DIFFERS))[members].all(axis=1)
    allowed = slack + noise[firsts] + noise[firsts + length]
    status[members[unbroken & (np.abs(off) > allowed)]] = Status.DIFFERS
    agreeing = members[unbroken & (np.abs(off) <= allowed) & (allowed <= UNDECIDED_SHARE * steepest)].ravel()
    status[agreeing[status[agreeing] == Status.UNDECIDED]] = Status.AGREES


def unbroken_runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The first and the last of every unbroken run in ``mask``."""
    edges = consecutive_differences(np.concatenate(([0], mask.astype(np.int8), [0])))
    firsts, lasts = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


def longest_run(mask: NDArray[np.bool_]) -> tuple[int, int]:
    """The first and the last of the longest run in ``mask``, of which there is one: of equals the first."""
    return max(unbroken_runs(mask), key=lambda run: run[1] - run[0])


@dataclass(frozen=True)
class Difference:
    """How far backward is ``off`` at ``x``: from the ``slope`` times grad_output, ``nearby`` the largest of those."""

    x: float
    off: float
    slope: float
    nearby: float


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

    def count(self, *statuses: Status) -> int:
        """How many rows have one of these statuses."""
        return sum(self._counts[status] for status in statuses)

    @cached_property
    def _counts(self) -> list[int]:
        counts: list[int] = np.bincount(self.status, minlength=len(Status)).tolist()
        return counts


def judge_points(
    evaluation: Evaluation,
    curve: Curve,
    tolerance: Tolerance,
    share: Array,
    remarks: bool = False,
    closely: bool = True,
) -> Comparison:
    """What backward returned against the slopes of ``curve`` at the rows, and against its rise between them.

    ``share`` (one a row) is how much of ``tolerance.atol`` holds there. With ``remarks``, differences in float64 that
    are at most ``REMARK_SHARE`` of the largest slope near each of them are a remark. Looked at ``closely``, what
    differs has to do so on the smallest scale, too.
    """
    analytical, slopes = evaluation.analytical, curve.slopes
    if analytical is None:
        return Comparison(np.full(slopes.kind.shape, Status.GAP, np.int8), _NO_CELLS, (), None, None)
    with np.errstate(all="ignore"):
        off = np.abs(analytical - evaluation.grad_output * slopes.value)
        rounded = conditioning(evaluation, slopes)
        lost = evaluation.precision_loss
        status = judge_returned(evaluation, analytical, slopes, tolerance, share, rounded, lost)
        status[~np.isfinite(evaluation.forward) & (slopes.kind != PointKind.JUMP)] = Status.GAP
        area, rounding = evaluation.area_under(curve), abs(evaluation.grad_output) * rounded + lost
        cells = _NO_CELLS
        if area is not None:
            steepest = min(evaluation.largest_gradient, largest_magnitude(analytical))
            cells = judge_cells(area, tolerance, share[area.ends], steepest, rounding[area.ends])
        if cells.size == status.size - 1 and (status == Status.DIFFERS).any():
            status[(status == Status.DIFFERS) & _moves_too_finely(evaluation, analytical, off, slopes, cells)] = (
                Status.UNDECIDED
            )
        differs = status == Status.DIFFERS
        small = remarks and evaluation.dtype == torch.float64 and (differs.any() or (cells == Status.DIFFERS).any())
        if small and (remark := _remark(evaluation, curve, differs, cells)):
            status[differs], cells[cells == Status.DIFFERS] = Status.AGREES, Status.AGREES
            return Comparison(status, cells, (), None, None, remark)
        repeats = not (evaluation.one_draw or evaluation.linearity.breaks("repeats"))
        if closely and repeats and evaluation.grad_output:
            _look_closely(evaluation, curve, status, cells, tolerance, tolerance.atol * share + rounding)
            differs = status == Status.DIFFERS
            small = small and (differs.any() or (cells == Status.DIFFERS).any())
            if small and (remark := _remark(evaluation, curve, differs, cells)):
                status[differs], cells[cells == Status.DIFFERS] = Status.AGREES, Status.AGREES
                return Comparison(status, cells, (), None, None, remark)
        if not (differs.any() or (cells == Status.DIFFERS).any()):
            return Comparison(status, cells, (), None, None)
        smooth = differs & (slopes.kind == PointKind.SMOOTH)
        worst = _worst_row(off, smooth if smooth.any() else differs)
        intervals = _union(_intervals(evaluation.rows.x, status), _cell_intervals(area, cells))
        intervals = _bridge(intervals, evaluation.rows.x, status, evaluation.grid.span / evaluation.grid.count)
        return Comparison(status, cells, intervals, worst, None if differs.any() else _worst_cell(area, cells))


def _look_closely(
    evaluation: Evaluation, curve: Curve, status: Statuses, cells: Statuses, tolerance: Tolerance, allowed: Array
) -> None:
    """Decide at the smallest scale on which forward is straight: what seems to differ, and what is undecided."""
    assert evaluation.analytical is not None
    area, explained = evaluation.area_under(curve), allowed + tolerance.rtol * np.abs(evaluation.analytical)
    if area is not None:
        explained[area.ends] += 2 * area.noise / curve.slopes.step  # of both ends
    _look_at_rows(evaluation, curve, status, explained)
    if area is None or not cells.size:
        return
    wrong, ends = (status == Status.DIFFERS)[area.ends], allowed[area.ends]
    slack = np.maximum(ends[1:], ends[:-1])
    doubtful = np.isin(cells, (Status.UNDECIDED, Status.JUMP)) & (not curve.unseen)
    for asked, levels in (((cells == Status.DIFFERS) & ~(wrong[1:] | wrong[:-1]), _LEVELS), (doubtful, 1)):
        rows = np.flatnonzero(asked)
        some = _some_of(rows, evaluation, _MOST_CELLS)
        low, high = area.left[some], area.right[some]
        # What differs in a cell as a whole may hide in it; in doubt, a part must differ by more than forward's noise.
        noise = (area.noise[some] + area.noise[some + 1]) if asked is doubtful else np.zeros(some.size)
        holds = _differs_inside(evaluation, curve, (low, high), slack[some], noise, tolerance.rtol, levels)
        if asked is doubtful:
            cells[some[holds]] = Status.DIFFERS
        elif rows.size:
            cells[rows[~_for_all(rows, some, holds)]] = Status.UNDECIDED


def _look_at_rows(evaluation: Evaluation, curve: Curve, status: Statuses, explained: Array) -> None:
    """``explained`` is how far a row in doubt may be off by rounding, and over the widest step by forward's noise."""
    x, off, right, _ = _differences(evaluation, curve)
    returned = evaluation.analytical
    assert returned is not None
    scale, closeness = evaluation.grad_output, _closenesses(evaluation, curve)[0]
    disputed = np.flatnonzero((status == Status.DIFFERS) & (off > 0) & np.isfinite(off))
    if disputed.size:
        some = np.union1d(_some_of(disputed, evaluation), disputed[off[disputed].argmax()])
        dispute = Dispute(x[some], returned[some] / scale, off[some] / abs(scale))
        answer = confirmed(closeness, dispute)
        # Differences do not converge by chance to a slope that is off by so little.
        gross = off[some] > _GROSS * np.maximum(np.abs(returned[some]), np.abs(right[some]))
        holds = (answer.contradicts | answer.hidden | ~gross & ~answer.follows) & ~wavers(
            _returned_at(evaluation), dispute, closeness.eps
        )
        status[disputed[~_for_all(disputed, some, holds)]] = Status.UNDECIDED
    undecided = np.flatnonzero((status == Status.UNDECIDED) & np.isfinite(returned))
    some = _some_of(np.setdiff1d(undecided, disputed), evaluation)
    slope = slopes_seen_closely(closeness, x[some], returned[some] / scale)
    distance: Array = np.where(slope == 0, np.nan, np.abs(returned[some] / scale - slope))  # a step is flat
    far = distance > np.maximum(2 * SHARE_SEEN * np.abs(returned[some]), explained[some]) / abs(scale)
    some, distance = some[far], distance[far]
    dispute = Dispute(x[some], returned[some] / scale, distance)
    against = confirmed(closeness, dispute).contradicts
    if against.any():
        status[some[against & ~wavers(_returned_at(evaluation), dispute, closeness.eps)]] = Status.DIFFERS


def _returned_at(evaluation: Evaluation) -> Forward:
    """What backward returns for a unit of grad_output."""
    section, scale = evaluation.section, evaluation.grad_output

    def returned_at(x: Array) -> Array:
        returned = section.backward(section.snap(x), scale).grad_input
        return np.zeros(x.size) if returned is None else returned / scale

    return returned_at


def _differs_inside(
    evaluation: Evaluation,
    curve: Curve,
    cells: tuple[Array, Array],
    allowed: Array,
    noise: Array,
    rtol: float,
    levels: int,
) -> Mask:
    """Which cells have a point in them at which backward differs by more than is allowed; the worst part is divided.

    Over a part of a cell it differs by more than the ``noise`` there, too.
    """
    low, high = (ends.copy() for ends in cells)
    holds = np.zeros(low.size, bool)
    for _ in range(levels if evaluation.section.stacked else 1):
        left = np.flatnonzero(~holds)
        if not left.size:
            break
        sides = low[left], high[left]
        edges, off, against = _disputed_parts(evaluation, curve, sides, allowed[left], noise[left], rtol)
        holds[left] = against.sum(axis=0) >= _MIN_PARTS
        worst, column = np.nan_to_num(off).argmax(axis=0), np.arange(left.size)
        low[left], high[left] = edges[worst, column], edges[worst + 1, column]
    return holds


def _disputed_parts(
    evaluation: Evaluation, curve: Curve, cells: tuple[Array, Array], allowed: Array, noise: Array, rtol: float
) -> tuple[Array, Array, Mask]:
    """The edges of the parts of each cell, how far backward is off in their middles, and whether that is confirmed."""
    section, scale, (low, high) = evaluation.section, evaluation.grad_output, cells
    parts = _PARTS if section.stacked else _PARTS_ALONE
    edges = section.snap((low + (high - low) * unit_shares(parts)).ravel()).reshape(parts + 1, low.size)
    middle = section.snap(((edges[1:] + edges[:-1]) / 2).ravel())
    gradient = section.backward(middle, scale).grad_input
    returned = np.zeros(edges[1:].shape) if gradient is None else gradient.reshape(edges[1:].shape)
    worst, against = np.zeros(returned.shape), np.zeros(returned.shape, bool)
    for closeness in _closenesses(evaluation, curve):
        rises = consecutive_differences(closeness.forward(edges.ravel()).reshape(edges.shape))
        widths = edges[1:] - edges[:-1]
        off = np.abs(returned / scale - rises / widths)
        asked = off * abs(scale) > allowed + rtol * np.abs(returned) + noise / widths
        dispute = Dispute(middle.reshape(asked.shape)[asked], returned[asked] / scale, off[asked])
        holds = confirmed(closeness, dispute).contradicts
        against[asked] |= holds
        if holds.any():
            against[asked] &= ~wavers(_returned_at(evaluation), dispute, closeness.eps)
        worst = np.fmax(worst, off)
    return edges, worst, against


def _some_of(disputed: NDArray[np.intp], evaluation: Evaluation, most: int = _MOST_CONFIRMED) -> NDArray[np.intp]:
    """As many of these as there is time to look at closer."""
    most = most if evaluation.section.stacked else _MOST_CONFIRMED_ALONE
    return disputed[np.linspace(0, disputed.size - 1, min(most, disputed.size)).astype(np.intp)]


def _for_all(places: NDArray[np.intp], some: NDArray[np.intp], holds: Mask) -> Mask:
    """Whether it holds at each of the places: as it does at ``some``, elsewhere if it does at one of the two around."""
    after = np.minimum(np.searchsorted(some, places), some.size - 1)
    before = np.maximum(np.searchsorted(some, places, side="right") - 1, 0)
    around: Mask = holds[after] | holds[before]
    return around


def _closenesses(evaluation: Evaluation, curve: Curve) -> tuple[Closeness, ...]:
    """How closely a curve can be looked at: in double precision, and where that is another one in the dtype's own."""
    section, eps = evaluation.section, torch.finfo(evaluation.dtype).eps
    height, reach = largest_magnitude(curve.values), largest_magnitude(evaluation.rows.x)
    forward, slopes = nan_outside_domain(evaluation.section_of(curve), evaluation.rows.x), curve.slopes
    precise = Closeness(forward, slopes.step, slopes.precision, eps, height, reach)
    same = evaluation.dtype == evaluation.numerical_dtype or curve is not evaluation.numerical
    if same or not is_another(curve.values, evaluation.forward):
        return (precise,)
    own = nan_outside_domain(section, evaluation.rows.x)
    return precise, Closeness(own, slopes.step, eps / 2, eps, height, reach, section.snap)


def difference_at(evaluation: Evaluation, curve: Curve, row: int) -> Difference:
    """How far what backward returned at a row is off: at a kink from the nearer one of the slopes of both sides."""
    return Difference(*(float(each[row]) for each in _differences(evaluation, curve)))


def _differences(evaluation: Evaluation, curve: Curve) -> tuple[Array, Array, Array, Array]:
    """The members of a ``Difference`` for all rows; backward must have returned something."""
    slopes, size, returned = curve.slopes, evaluation.grad_output, evaluation.analytical
    assert returned is not None
    sides = size * np.stack((slopes.left, slopes.right))
    nearest = np.clip(returned, sides.min(axis=0), sides.max(axis=0))
    right = np.where(slopes.kind == PointKind.KINK, nearest, size * slopes.value)
    nearby = np.fmax(np.abs(right), evaluation.local_scale * evaluation.largest_gradient)
    return evaluation.rows.x, np.abs(returned - right), right, nearby


def _remark(evaluation: Evaluation, curve: Curve, differs: Mask, cells: Statuses) -> Difference | None:
    """The largest difference by its place, where all are small; in a cell it is the mean. None if not all are."""
    rows = _differences(evaluation, curve)
    found, nearby = [each[differs] for each in rows], rows[-1]
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
    gross = off > UNDECIDED_SHARE * np.abs(evaluation.grad_output * slopes.value)
    cell = evaluation.grid.span / evaluation.rows.x.size
    values = evaluation.numerical.values[np.isfinite(evaluation.numerical.values)]
    fast = np.abs(analytical) * cell > 2 * np.abs(evaluation.grad_output) * (np.ptp(values) if values.size else 0.0)
    hidden = steps[:-1] & steps[1:] & gross | vague[:-1] & vague[1:] & fast
    return hidden & (slopes.kind == PointKind.SMOOTH) & np.isfinite(analytical)


def judge_returned(
    evaluation: Evaluation,
    returned: Array,
    slopes: Slopes,
    tolerance: Tolerance,
    share: Array,
    rounded: Array,
    lost: Array,
) -> Statuses:
    """A status for what backward ``returned`` at some points of the range, against the ``slopes`` there.

    The other numbers are those of ``judge_slopes``.
    """
    # A constant has no slope to measure error bounds by, but it has a height.
    height = abs(evaluation.grad_output) * largest_magnitude(evaluation.numerical.values) / evaluation.grid.span
    largest = evaluation.largest_gradient + height
    return judge_slopes(
        returned, slopes, evaluation.grad_output, tolerance, evaluation.dtype, largest, share, rounded, lost
    )


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
    return torch.finfo(evaluation.dtype).eps / 2 * np.abs(x) * steepest


def _worst_row(off: Array, differs: Mask) -> int | None:
    """The row that is furthest off; of a whole stretch that is equally so, the one in its middle."""
    if not differs.any():
        return None
    off = np.where(differs, np.where(np.isfinite(off), off, np.inf), -1.0)
    first, last = longest_run(off >= _TIED * off.max())
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
        return neighbour
    return end


def _cell_intervals(area: IntegralCheck | None, cells: Statuses) -> tuple[Interval, ...]:
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
            if not np.isin(between, (Status.AGREES, Status.SUBGRADIENT)).any():
                merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
                continue
        merged.append((low, high))
    return tuple(merged)


def _worst_cell(area: IntegralCheck | None, cells: Statuses) -> int | None:
    differs = cells == Status.DIFFERS
    if area is None or not differs.any():
        return None
    return int(np.where(differs, np.abs(area.residual) / (area.right - area.left), -1.0).argmax())
