"""The edges of the intervals in which backward differs, located between the rows as precisely as error bounds permit.

An edge is a kink or a jump, of forward or of what backward returns, where one lies between the last row that agrees and
the first that differs. Elsewhere the difference, backward minus the numerical slope, is narrowed down against its own
allowance. It outgrows that only a little beyond the edge, and of the numbers in that doubt the simplest is taken: 3,
and not 3.0000000001. Where the difference crosses zero, on a row or between two, backward agrees at a single point: one
interval ends there, and the next begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from ...runtime.arrays import Array, Interval, Mask, at_rows, finite_rise
from ...runtime.failure import FunctionFailed
from ..curve.curve import Curve, nan_outside_domain
from ..curve.evaluation import Evaluation
from ..differentiation.finite_differences import LEVELS, Ladder, PointKind, Slopes
from ..formatting.numbers import simplest_number
from ..status import Status
from ..tolerance import CLEARLY, SMALL, Allowed
from .curve_judge import Comparison, judge_returned
from .slope_judge import error_band

# budget: of more brackets none is narrowed; of more than would fill a call, no more than the least.
_MOST, _LEAST = 100, 4
_MIN_PARTS, _MAX_PARTS = 3, 128  # budget: the points of a round in each bracket, so many that they fill a call
_FORWARDS = 2 * LEVELS + 1  # unit: for each of them
_ROUNDS, _ROUNDS_ALONE = 10, 5  # budget: the most rounds; and where each point needs calls of its own
_NARROW = 2e-9  # bound: the width down to which a bracket is narrowed, as a share of the range
# bound: the edge is at most this many times as far from where the difference is within its allowance as that is from
# where it is clear, if it grows with the distance from the edge, with the square or with the cube of it.
_REACH, _MOST_REACH = 2.0, 2.0  # bound: of that no more is believed than so many cells
_ULPS = 2.0  # ulps: a Function may miss the number at which it is to change by so many


def locate_edges(evaluation: Evaluation, curve: Curve, comparison: Comparison, allowed: Allowed) -> Comparison:
    """The comparison with a ``curve``, its intervals from edge to edge; those between the rows stay as they are.

    Two calls a round for all edges together.
    """
    if comparison.worst is None or evaluation.hurried:
        return comparison
    with np.errstate(all="ignore"):
        brackets = _brackets(evaluation, curve, comparison)
        try:
            windows = _narrowed(_Difference(evaluation, curve, allowed), brackets)
        except FunctionFailed:  # it accepts the rows, and not what lies between them
            brackets, windows = brackets.at(slice(0)), np.empty((0, 2))
    return replace(comparison, intervals=tuple(_joined(_pieces(evaluation, comparison, brackets, windows))))


@dataclass(frozen=True)
class _Brackets:
    """Pairs of neighbouring rows: at ``wrong`` backward differs, at ``other`` it agrees.

    Where it ``crosses`` it differs there too, to the other side.
    """

    wrong: NDArray[np.intp]
    other: NDArray[np.intp]
    crosses: Mask

    at = at_rows


def _brackets(evaluation: Evaluation, curve: Curve, comparison: Comparison) -> _Brackets:
    """The pairs between which there is an edge, none where asking again would tell nothing."""
    status, smooth = comparison.status, curve.slopes.kind == PointKind.SMOOTH
    assert evaluation.analytical is not None
    off = evaluation.analytical - evaluation.grad_output * curve.slopes.value
    differs, agrees, side = status == Status.DIFFERS, status == Status.AGREES, np.sign(off) * smooth
    ends, begins = np.flatnonzero(differs[:-1] & agrees[1:]), np.flatnonzero(agrees[:-1] & differs[1:])
    crosses = np.flatnonzero(differs[:-1] & differs[1:] & (side[:-1] * side[1:] == -1))
    found = _Brackets(
        np.concatenate((ends, begins + 1, crosses)),
        np.concatenate((ends + 1, begins, crosses + 1)),
        np.arange(ends.size + begins.size + crosses.size) >= ends.size + begins.size,
    )
    vague = not evaluation.deterministic or curve.unseen or evaluation.linearity.breaks("repeats", "batch")
    most = min(_MOST, max(_LEAST, evaluation.section.batch_size // (_FORWARDS * _MIN_PARTS)))
    found = found.at(~found.crosses) if found.wrong.size > most else found
    return found.at(slice(0)) if vague or found.wrong.size > most else found


@dataclass(frozen=True)
class _Found:
    """How far backward is ``off``, in units of its ``allowance`` too, and where it is judged to differ."""

    off: Array
    size: Array
    differs: Mask


@dataclass(frozen=True)
class _Difference:
    """The difference between backward and the slopes of a ``curve``, at any points of the range."""

    evaluation: Evaluation
    curve: Curve
    allowed: Allowed

    def at_rows(self) -> _Found:
        """At the rows, as measured before."""
        assert self.evaluation.analytical is not None
        return self._judged(self.evaluation.rows.x, self.evaluation.analytical, self.curve.slopes)

    def at(self, points: Array) -> _Found:
        """At other points, brackets × points: one call of backward and mostly one of forward."""
        evaluation = self.evaluation
        x = evaluation.section.snap(points.ravel())
        found = self._judged(x, evaluation.section.gradient(x, evaluation.grad_output), self._slopes(x))
        return _Found(*(each.reshape(points.shape) for each in vars(found).values()))

    def _slopes(self, x: Array) -> Slopes:
        """The slopes of the curve at these points, with steps as at the rows."""
        evaluation, known = self.evaluation, self.curve.slopes
        forward = nan_outside_domain(evaluation.section_of(self.curve), evaluation.rows.x)
        noise = np.interp(x, evaluation.rows.x, known.noise) / 2
        visible = finite_rise(self.curve.values) / evaluation.grid.span
        ladder = Ladder.around(forward, x, known.step, noise, known.precision)
        return ladder.slopes(lambda rows: forward, lambda _: visible, neighbours=True)

    def _judged(self, x: Array, returned: Array, slopes: Slopes) -> _Found:
        evaluation, rows, scale = self.evaluation, self.evaluation.rows.x, self.evaluation.grad_output
        rounded = torch.finfo(evaluation.section.dtype).eps / 2 * np.abs(x) * slopes.curvature
        share, lost = (np.interp(x, rows, each) for each in (self.allowed.share, self.allowed.lost))
        allowed = replace(self.allowed, share=share, rounded=rounded, lost=lost)
        status = judge_returned(evaluation, returned, slopes, allowed)
        expected = scale * slopes.value
        leeway = allowed.leeway(expected, error_band(slopes.error + rounded, scale))
        off = np.nan_to_num(returned - expected)
        return _Found(off, np.abs(off) / leeway.total, status == Status.DIFFERS)


def _narrowed(difference: _Difference, brackets: _Brackets) -> Array:
    """The window in which the edge of each bracket lies (n × 2), NaN where the difference leaps over zero."""
    evaluation, count = difference.evaluation, brackets.wrong.size
    if not count:
        return np.empty((0, 2))
    x, known = evaluation.rows.x, difference.at_rows()
    parts = max(_MIN_PARTS, min(_MAX_PARTS, evaluation.section.batch_size // (_FORWARDS * count)))
    shares, column = np.arange(1, parts + 1) / (parts + 1), np.arange(count)
    wrong, other, sign = x[brackets.wrong], x[brackets.other], np.sign(known.off[brackets.wrong])
    clear, opposite = _clear_rows(x, known, brackets), known.off[brackets.other]
    for _ in range(_ROUNDS if evaluation.section.stacked else _ROUNDS_ALONE):
        narrow = np.maximum(_NARROW * evaluation.grid.span, 4 * np.spacing(np.abs(wrong)))
        if (np.abs(wrong - other) <= narrow).all():
            break
        points = other[:, None] + (wrong - other)[:, None] * shares
        found = difference.at(points)
        same = found.differs & (np.sign(found.off) == sign[:, None])
        last = parts - np.logical_and.accumulate(same[:, ::-1], axis=1).sum(axis=1)
        beyond = (found.size >= CLEARLY) & (np.arange(parts) >= last[:, None])
        clear = np.where(beyond.any(axis=1), points[column, beyond.argmax(axis=1)], clear)
        points = np.column_stack((other, points, wrong))
        other, wrong = points[column, [last, last + 1]]
        opposite = np.column_stack((opposite, found.off * found.differs))[column, last]
    cell = evaluation.grid.span / evaluation.grid.count
    reach = np.minimum(_REACH * np.abs(clear - other), _MOST_REACH * cell)
    rounding = _rounding(evaluation) * np.abs(wrong)
    towards = np.sign(wrong - other)
    windows = np.sort(np.column_stack((other - towards * (reach + rounding), wrong + towards * rounding)))
    windows[brackets.crosses & (np.abs(opposite) > SMALL * np.abs(known.off[brackets.other]))] = np.nan
    return windows


def _clear_rows(x: Array, known: _Found, brackets: _Brackets) -> Array:
    """Where the difference becomes clear on the side of ``wrong``, as far as the rows tell; ∞ if it does nowhere."""
    side, clear = np.sign(known.off) * known.differs, []
    for wrong, other in zip(brackets.wrong.tolist(), brackets.other.tolist(), strict=True):
        rows = np.arange(wrong, x.size) if wrong > other else np.arange(wrong, -1, -1)
        run = np.logical_and.accumulate(side[rows] == side[wrong])
        size = np.maximum.accumulate(np.where(run, known.size[rows], 0.0))
        clear.append(np.interp(CLEARLY, size, x[rows], right=np.inf))
    return np.array(clear)


def _rounding(evaluation: Evaluation) -> float:
    """By what share of x a Function may miss the number at which it is to change."""
    return _ULPS * torch.finfo(evaluation.section.dtype).eps


def _pieces(
    evaluation: Evaluation, comparison: Comparison, brackets: _Brackets, windows: Array
) -> Iterator[tuple[Interval, Interval]]:
    """The windows in which each interval begins and ends, where a crossing divides it one more than before."""
    x = evaluation.rows.x[brackets.wrong]
    begins, crosses = brackets.wrong > brackets.other, brackets.crosses
    first, last = (
        dict(zip(x[some].tolist(), windows[some].tolist(), strict=True)) for some in (begins, ~begins & ~crosses)
    )
    inside = sorted(windows[crosses & ~np.isnan(windows[:, 0])].tolist())
    for low, high in comparison.intervals:
        start, end = first.get(low) or _at_jump(evaluation, low), last.get(high) or _at_jump(evaluation, high)
        cuts = [each for each in inside if low <= each[0] and each[1] <= high]
        yield from zip((start, *cuts), (*cuts, end), strict=True)


def _at_jump(evaluation: Evaluation, end: float) -> Interval:
    """Between which numbers backward jumps where an interval ends at a row beside that jump; else the end itself."""
    rows = evaluation.rows
    for low, high in zip(rows.x[rows.below].tolist(), rows.x[rows.above].tolist(), strict=True):
        if low <= end <= high and not (rows.gap & (rows.x >= low) & (rows.x <= high)).any():
            rounding = _rounding(evaluation) * abs(end)
            return low - rounding, high + rounding
    return end, end


def _joined(pieces: Iterator[tuple[Interval, Interval]]) -> Iterator[Interval]:
    """The intervals from and to the simplest numbers of their windows, one for two windows that overlap."""
    ends: list[Interval] = []
    for start, end in pieces:
        if ends and start[0] <= ends[-1][1] and ends[-1][0] <= start[1]:
            start = ends[-1] = max(start[0], ends[-1][0]), min(start[1], ends[-1][1])
        ends += [start, end]
    numbers = [simplest_number(low, high) if low < high else low for low, high in ends]
    return zip(numbers[::2], numbers[1::2], strict=True)
