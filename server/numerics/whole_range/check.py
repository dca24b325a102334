"""The check over the whole range: backward against forward over all numbers of the dtype, for faults out of view."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Array, Interval, Mask, unbroken_runs
from ...runtime.domain_reach import DomainReach
from ...runtime.failure import FunctionFailed
from ...runtime.remembered import remembered
from ...runtime.section import Section
from ..formatting.numbers import simplest_number
from ..sampling.grid import Grid
from ..status import Status
from ..tolerance import CLEARLY, Tolerance
from .judge import (
    RangeMeasurements,
    is_rounding,
    judge_range,
    missing_gradients,
    range_gradients,
    repeats_alone,
    with_bounds,
)
from .relative_steps import forward_within, relative_step_slopes

_Statuses = NDArray[np.int8]
# bound: in the search for where a difference begins, the least relative difference; and the step relative to |x|.
_MIN_DIFFERENCE, _RELATIVE_STEP = 1e-4, 1e-5
# ulps: an allowance for cancellation inside forward: this many units of rounding of the neighbouring slopes.
_CANCELLATION = 2e4
# bound: from where a difference is clear to the edge it is at most this many times as far as from where it begins, of
# which no more is believed than this share of the distance of two points.
_REACH, _MOST_REACH = 2.0, 0.05
# budget: the rounds, and the points of each: an end is found to about 1/270 000 of the distance of two points.
_ROUNDS, _POINTS = 3, 66
_MAX_EXPONENT = 1024  # unit: two to this power is more than any number of float64


@dataclass(frozen=True)
class WholeRangeCheck:
    """The result for a section between the outermost numbers of its dtype.

    The arrays have one element for each of some 300 points, increasing in ``x``; gradients are ``grad_input``,
    ``numerical`` is NaN where no difference can be trusted. ``status`` holds codes of ``Status``. ``intervals`` are
    where backward differs, ``reach`` is the range examined, ``finite`` goes from the first to the last x at which
    forward is finite (NaN if it never is). ``ends`` says for either side why the range ends there: empty where the
    dtype ends, ``slow``, or the kind of the exception. ``rounded``: where backward differs it is by its own rounding.
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
    rounded: bool = False

    def times(self, factor: float) -> WholeRangeCheck:
        """The same for a grad_output of so many times the size, to which backward is in proportion."""
        if factor == 1.0:
            return self
        analytical, numerical, error = factor * self.analytical, factor * self.numerical, abs(factor) * self.error
        return replace(self, analytical=analytical, numerical=numerical, error=error)


@np.errstate(all="ignore")
def check_whole_range(
    section: Section,
    reference: Section,
    grad_output: float,
    largest_gradient: float,
    surrogate: Section | None = None,
    seen: float = 1.0,
) -> WholeRangeCheck:
    """Check ``section`` from 0 outwards in both directions, as far as it can be called in bounded time.

    ``reference`` is the section in double precision, ``largest_gradient`` the largest ``grad_input`` in the visible
    range, which sets the scale of what is tolerated, as a power of two, so that the answer is the same for all ranges
    of such a scale, and remembered; the gradient of the ``surrogate`` is accepted too. Up to ``seen`` reach the numbers
    that forward may add to x before it rounds. Backward differs where it
    contradicts forward on every scale, by more than rounding can explain, and returns the same when called for that
    point alone. Never raises ``FunctionFailed``.
    """
    mantissa, exponent = math.frexp(largest_gradient)
    scale = math.ldexp(1.0, exponent) if mantissa > 0.5 and exponent < _MAX_EXPONENT else largest_gradient
    return _check_at_scale(section, reference, grad_output, scale, surrogate, seen)


@remembered(lambda wide: "slow" not in wide.ends)
def _check_at_scale(
    section: Section,
    reference: Section,
    grad_output: float,
    largest_gradient: float,
    surrogate: Section | None,
    seen: float,
) -> WholeRangeCheck:
    try:
        found = range_gradients(section, reference, grad_output)
        if not found.x.size:
            return _empty_check(found.reach)
        return _check(with_bounds(found, largest_gradient, seen), surrogate)
    except FunctionFailed as failed:
        return _empty_check(DomainReach(0.0, 0.0, (failed.failure.kind, failed.failure.kind)))


def outside_view(wide: WholeRangeCheck, grid: Grid) -> tuple[Interval, ...]:
    """The parts outside the visible range of the intervals in which backward differs."""
    parts = [(low, min(high, grid.start)) for low, high in wide.intervals if low < grid.start]
    parts += [(max(low, grid.stop), high) for low, high in wide.intervals if high > grid.stop]
    accused = wide.x[(wide.status == Status.DIFFERS) & ((wide.x < grid.start) | (wide.x > grid.stop))]
    return tuple((low, high) for low, high in parts if ((accused >= low) & (accused <= high)).any())


def tolerated_range(wide: WholeRangeCheck, tolerance: Tolerance) -> WholeRangeCheck:
    """The check without the differences that a tolerance allows."""
    with np.errstate(all="ignore"):
        margin = tolerance.margin(wide.numerical)
        allowed = np.abs(wide.analytical - wide.numerical) <= margin
    left = (wide.status == Status.DIFFERS) & ~allowed
    allowed &= (wide.status == Status.DIFFERS) | (wide.status == Status.UNDECIDED) & (wide.error <= margin)
    status = np.where(allowed, Status.AGREES, wide.status).astype(np.int8)
    intervals = tuple((low, high) for low, high in wide.intervals if (left & (wide.x >= low) & (wide.x <= high)).any())
    return replace(wide, status=status, intervals=intervals)


def less_certain(wide: WholeRangeCheck, differs: tuple[Interval, ...]) -> WholeRangeCheck:
    """The check with nothing that agrees where a closer look has found that backward ``differs``."""
    inside = np.any([(low <= wide.x) & (wide.x <= high) for low, high in differs], axis=0)
    status = np.where(inside & (wide.status == Status.AGREES), Status.UNDECIDED, wide.status).astype(np.int8)
    return replace(wide, status=status)


def _empty_check(reach: DomainReach) -> WholeRangeCheck:
    none, nowhere, ends = np.empty(0), (math.nan, math.nan), (reach.low, reach.high)
    return WholeRangeCheck(none, none, none, none, none, np.empty(0, np.int8), (), ends, nowhere, reach.ends)


def _check(data: RangeMeasurements, surrogate: Section | None) -> WholeRangeCheck:
    if surrogate is None:
        judgement = judge_range(data)
        agrees, differs = judgement.agrees, judgement.differs
    else:
        measured = relative_step_slopes(surrogate, data.reach, data.x)
        meant = judge_range(replace(data, reference=surrogate, measured=measured))
        judgement = judge_range(data, meant.agrees)
        agrees, differs = judgement.agrees | meant.agrees, judgement.differs & meant.differs
    differs = differs | missing_gradients(data)
    if differs.any() and not repeats_alone(data, differs):
        differs = np.zeros_like(differs)
    status = np.where(data.finite, np.where(agrees, Status.AGREES, Status.UNDECIDED), Status.GAP).astype(np.int8)
    status[differs] = Status.DIFFERS
    size = abs(data.grad_output)
    return WholeRangeCheck(
        x=data.x,
        forward=data.values,
        analytical=data.analytical,
        numerical=data.grad_output * judgement.slope,
        error=size * judgement.error + _CANCELLATION * data.measured.precision * data.scale,
        status=status,
        intervals=_intervals(data, status, [data.reference, *([surrogate] if surrogate else [])]),
        reach=(data.reach.low, data.reach.high),
        finite=_finite_range(data),
        ends=data.reach.ends,
        rounded=bool(differs.any()) and is_rounding(data, differs, judgement.slope),
    )


def _intervals(data: RangeMeasurements, status: _Statuses, right: Sequence[Section]) -> tuple[Interval, ...]:
    """The intervals in which backward differs; undecided points between two that differ are included."""
    if not (status == Status.DIFFERS).any():
        return ()
    known = np.flatnonzero((status == Status.DIFFERS) | (status == Status.AGREES))
    runs = known[unbroken_runs(status[known] == Status.DIFFERS)].tolist()
    return tuple(
        (_interval_end(data, status, right, first, -1), _interval_end(data, status, right, last, 1))
        for first, last in runs
    )


def _interval_end(data: RangeMeasurements, status: _Statuses, right: Sequence[Section], row: int, side: int) -> float:
    """The end, on this side of a row that differs, of the interval in which backward matches none of ``right``."""
    neighbour = row + side
    if not 0 <= neighbour < status.size:
        return data.reach.high if side > 0 else data.reach.low
    if status[neighbour] == Status.GAP:
        return _first_finite(data, neighbour, row)
    if status[neighbour] != Status.AGREES:
        return float(data.x[row])

    def differs(t: Array, times: float = 1.0) -> Mask:
        returned = data.section.gradient(t, data.grad_output)
        ahead, behind = t * (1 + _RELATIVE_STEP), t * (1 - _RELATIVE_STEP)
        wrong = np.full(t.size, True)
        for each in right:
            above, below = forward_within(each, data.reach)(np.concatenate((ahead, behind))).reshape(2, -1)
            slope = data.grad_output * (above - below) / (ahead - behind)
            allowed = _MIN_DIFFERENCE * (np.abs(slope) + data.scale[row]) + data.allowed[row]
            wrong &= ~(np.abs(returned - slope) <= times * allowed)
        return wrong

    agrees, begins = _bracket(differs, data, neighbour, row)
    _, clear = _bracket(partial(differs, times=CLEARLY), data, neighbour, row)
    reach = min(_REACH * abs(clear - agrees), _MOST_REACH * abs(float(data.x[row] - data.x[neighbour])))
    smeared = side * _RELATIVE_STEP * abs(begins)
    return simplest_number(*sorted((agrees + side * reach + smeared, begins - smeared)))


def _finite_range(data: RangeMeasurements) -> Interval:
    """The first and the last x at which forward is finite."""
    rows = np.flatnonzero(np.isfinite(data.values))
    if not rows.size:
        return (math.nan, math.nan)
    low, high = int(rows[0]), int(rows[-1])
    return (
        _first_finite(data, low - 1, low) if low > 0 else data.reach.low,
        _first_finite(data, high + 1, high) if high < data.x.size - 1 else data.reach.high,
    )


def _first_finite(data: RangeMeasurements, without: int, with_it: int) -> float:
    return _bracket(lambda t: np.isfinite(data.section.forward(t)), data, without, with_it)[1]


def _bracket(holds: Callable[[Array], Mask], data: RangeMeasurements, without: int, with_it: int) -> Interval:
    """The last number at which the condition does not hold and the first at which it does, between two of the points.

    Accurate to some millionths of their distance, on a logarithmic scale where both have the same sign.
    """
    start, stop = float(data.x[without]), float(data.x[with_it])
    for _ in range(_ROUNDS):
        points = np.geomspace(start, stop, _POINTS) if start * stop > 0 else np.linspace(start, stop, _POINTS)
        points = data.section.snap(points)
        first = int(np.append(holds(points[1:-1]), True).argmax()) + 1
        start, stop = float(points[first - 1]), float(points[first])
    return start, stop
