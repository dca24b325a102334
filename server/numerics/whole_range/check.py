"""The check over the whole range: backward against forward over all numbers of the dtype, for faults out of view."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Array, Interval, Mask
from ...runtime.failure import FunctionFailed
from ...runtime.section import Section
from ..sampling.bisection import first_where
from ..sampling.grid import Grid
from ..status import Status
from .domain_reach import DomainReach, find_reach
from .judge import RangeMeasurements, judge_range, measure_range, missing_gradients, repeats_alone
from .relative_steps import forward_within, relative_step_slopes

_Statuses = NDArray[np.int8]
# In the search for where a difference begins: the least relative difference, and the step relative to |x|.
_BEGINS, _STEP = 1e-4, 1e-5
# An allowance for cancellation inside forward: this many units of rounding of the neighbouring slopes.
_CANCELLED = 2e4


@dataclass(frozen=True)
class WholeRangeCheck:
    """The result for a section between the outermost numbers of its dtype.

    The arrays have one element for each of some 300 points, increasing in ``x``; gradients are ``grad_input``,
    ``numerical`` is NaN where no difference can be trusted. ``status`` holds codes of ``Status``. ``intervals`` are
    where backward differs, ``reach`` is the range examined, ``finite`` goes from the first to the last x at which
    forward is finite (NaN if it never is). ``ends`` says for either side why the range ends there: empty where the
    dtype ends, ``slow``, or the kind of the exception.
    """

    x: Array
    forward: Array
    analytical: Array
    numerical: Array
    error: Array
    status: _Statuses
    intervals: tuple[Interval, ...]
    reach: Interval
    finite: Interval
    ends: tuple[str, str] = ("", "")


@np.errstate(all="ignore")
def check_whole_range(
    section: Section, reference: Section, grad_output: float, in_sight: float, surrogate: Section | None = None
) -> WholeRangeCheck:
    """Check ``section`` from 0 outwards in both directions, as far as it can be called in bounded time.

    ``reference`` is the section in double precision, ``in_sight`` the largest ``grad_input`` in the visible range;
    the gradient of the ``surrogate`` is accepted too. Backward differs where it contradicts forward on every scale, by
    more than rounding can explain, and returns the same when called for that point alone. Never raises
    ``FunctionFailed``.
    """
    reach = DomainReach(0.0, 0.0, ("", ""), 0.0)
    try:
        reach = find_reach(section, reference, grad_output)
        seen = measure_range(section, reference, grad_output, reach, in_sight)
        return _nothing(reach) if seen is None else _judged(seen, surrogate)
    except FunctionFailed as failed:
        return _nothing(replace(reach, low=0.0, high=0.0, ends=(failed.failure.kind, failed.failure.kind)))


def outside_view(wide: WholeRangeCheck, grid: Grid) -> tuple[Interval, ...]:
    """The parts outside the visible range of the intervals in which backward differs."""
    parts = [(low, min(high, grid.start)) for low, high in wide.intervals if low < grid.start]
    parts += [(max(low, grid.stop), high) for low, high in wide.intervals if high > grid.stop]
    out = wide.x[(wide.status == Status.DIFFERS) & ((wide.x < grid.start) | (wide.x > grid.stop))]
    return tuple((low, high) for low, high in parts if ((out >= low) & (out <= high)).any())


def _nothing(reach: DomainReach) -> WholeRangeCheck:
    none, nowhere = np.empty(0), (math.nan, math.nan)
    return WholeRangeCheck(
        none, none, none, none, none, np.empty(0, np.int8), (), (reach.low, reach.high), nowhere, reach.ends
    )


def _judged(seen: RangeMeasurements, surrogate: Section | None) -> WholeRangeCheck:
    found = judge_range(seen)
    agrees, differs = found.agrees, found.differs
    if surrogate is not None and not agrees.all():
        measured = relative_step_slopes(surrogate, seen.reach, seen.x)
        meant = judge_range(replace(seen, reference=surrogate, measured=measured))
        agrees, differs = agrees | meant.agrees, differs & meant.differs
    differs |= missing_gradients(seen)
    if differs.any() and not repeats_alone(seen, differs):
        differs = np.zeros_like(differs)
    status = np.where(seen.drawn, np.where(agrees, Status.AGREES, Status.UNDECIDED), Status.GAP).astype(np.int8)
    status[differs] = Status.DIFFERS
    scale = abs(seen.grad_output)
    return WholeRangeCheck(
        x=seen.x,
        forward=seen.values,
        analytical=seen.analytical,
        numerical=seen.grad_output * found.slope,
        error=scale * found.error + _CANCELLED * seen.measured.precision * seen.scale,
        status=status,
        intervals=_intervals(seen, status, [seen.reference, *([surrogate] if surrogate else [])]),
        reach=(seen.reach.low, seen.reach.high),
        finite=_finite(seen),
        ends=seen.reach.ends,
    )


def _intervals(seen: RangeMeasurements, status: _Statuses, right: Sequence[Section]) -> tuple[Interval, ...]:
    """The intervals in which backward differs; undecided points between two that differ are included."""
    known = np.flatnonzero((status == Status.DIFFERS) | (status == Status.AGREES))
    differs = np.concatenate(([False], status[known] == Status.DIFFERS, [False]))
    starts, ends = np.flatnonzero(~differs[:-1] & differs[1:]), np.flatnonzero(differs[:-1] & ~differs[1:]) - 1
    return tuple(
        (_ends(seen, status, right, int(first), -1), _ends(seen, status, right, int(last), 1))
        for first, last in zip(known[starts], known[ends], strict=True)
    )


def _ends(seen: RangeMeasurements, status: _Statuses, right: Sequence[Section], row: int, side: int) -> float:
    """The end, on this side of a row that differs, of the interval in which backward matches none of ``right``."""
    beside = row + side
    if not 0 <= beside < status.size:
        return seen.reach.high if side > 0 else seen.reach.low
    if status[beside] == Status.GAP:
        return _between(lambda t: np.isfinite(seen.section.forward(t)), seen, beside, row)
    if status[beside] != Status.AGREES:
        return float(seen.x[row])

    def differs(t: Array) -> Mask:
        returned = seen.section.backward(t, seen.grad_output).grad_input
        ahead, behind = t * (1 + _STEP), t * (1 - _STEP)
        off = np.full(t.size, True)
        for each in right:
            above, below = forward_within(each, seen.reach)(np.concatenate((ahead, behind))).reshape(2, -1)
            slope = seen.grad_output * (above - below) / (ahead - behind)
            allowed = _BEGINS * (np.abs(slope) + seen.scale[row]) + seen.allowed[row]
            off &= ~(np.abs((0.0 if returned is None else returned) - slope) <= allowed)
        return off

    return _between(differs, seen, beside, row)


def _finite(seen: RangeMeasurements) -> Interval:
    """The first and the last x at which forward is finite."""
    rows = np.flatnonzero(np.isfinite(seen.values))
    if not rows.size:
        return (math.nan, math.nan)
    low, high = int(rows[0]), int(rows[-1])

    def finite(t: Array) -> Mask:
        return np.isfinite(seen.section.forward(t))

    return (
        _between(finite, seen, low - 1, low) if low > 0 else seen.reach.low,
        _between(finite, seen, high + 1, high) if high < seen.x.size - 1 else seen.reach.high,
    )


def _between(holds: Callable[[Array], Mask], seen: RangeMeasurements, without: int, with_it: int) -> float:
    return first_where(holds, seen.section.snap, float(seen.x[without]), float(seen.x[with_it]))
