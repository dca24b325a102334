"""The section of a slow Function: at few points, called one by one, what backward returns and the slope of forward."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
import torch

from ...runtime import timing
from ...runtime.arrays import EPSILON, Array, largest_magnitude
from ...runtime.batching import GOLDEN_RATIO, WITNESS_SHARES
from ...runtime.call_cost import SLOW
from ...runtime.compilers import loaded_compilers
from ...runtime.failure import TOOK_TOO_LONG, Failure, FunctionFailed
from ...runtime.reference import double_precision
from ...runtime.remembered import remembered
from ...runtime.section import BackwardResult, Section
from ...runtime.timeouts import finished_within, seconds_left
from ..differentiation.arithmetic import precision_of_values
from ..differentiation.finite_differences import (
    EVIDENCE_BOUNDS,
    LADDER,
    RATIO,
    Ladder,
    PointKind,
    Slopes,
    widest_step,
)
from ..differentiation.scatter import most_explained
from ..formatting.numbers import format_number
from ..linearity.laws import Linearity
from ..sampling.grid import Grid, grid_rows
from ..tolerance import tolerance_for
from .curve import SCATTER_CALLS, SCATTERED_STEPS, Curve, local_scale, scatter_along
from .evaluation import Evaluation
from .row_values import backward_or_failure

_T = TypeVar("_T")
# budget: of the time that is left the share of the first call, that of all that is usually looked at, else that for
# which points are planned; these are begun in so much of it, and there are at most so many.
_FIRST_SHARE, ALL_SHARE, _PLANNED, _BEGUN, _MOST_POINTS = 0.5, 0.7, 0.8, 0.4, 16
# budget: a call may take so many times as long as the first, or such a share of the time where that did not return.
_PATIENCE, _SHARE = 4.0, 1 / 16
# budget: what took longer is not asked for again, unless it may have been compiled, or a GPU begun, the first time.
_ASKED_AGAIN = 1.0
# sample: the steps of the ladder that are used, and the heights that are asked for around a point, in the widest.
_STEPS = LADDER[:2]
_STENCIL = np.concatenate(([0.0], (_STEPS * [1.0, -1.0]).ravel()))


@dataclass(frozen=True)
class FirstCall:
    """How many ``seconds`` a call for backward takes at ``x`` with ``grad_output``, and what it ``returned``.

    They are ∞ where it does not return.
    """

    x: float
    grad_output: float
    seconds: float
    returned: BackwardResult | None = None


@remembered(lambda first: first.seconds <= SLOW)
def first_call(alone: Section, grad_output: float) -> FirstCall:
    """The first call of a section, within its domain. It takes no time where it fails, as others will."""
    if alone.sweeps_parameter or alone.also:
        return FirstCall(math.nan, grad_output, 0.0)
    (low, high), seconds, returned = alone.op.input(alone.wrt).domain, math.inf, None
    x = alone.snap(np.array([low + WITNESS_SHARES[1] * (high - low)]))
    try:
        for _ in range(2):  # what is imported or compiled the first time does not count
            began = timing.now()
            returned = finished_within(_FIRST_SHARE * seconds_left(), partial(alone.backward, x, grad_output))
            seconds = timing.now() - began if returned else math.inf
            begins = alone.device != "cpu" or loaded_compilers()
            if seconds <= SLOW or (seconds > _ASKED_AGAIN and not begins):
                break
    except FunctionFailed:
        seconds = 0.0
    return FirstCall(float(x[0]), grad_output, seconds, returned)


@np.errstate(all="ignore")
def evaluate_few(
    section: Section, grid: Grid, grad_output: float, step: float | None, first: FirstCall, until: float
) -> Evaluation:
    """Evaluate a slow ``section`` at as many points of the ``grid`` as there is time for ``until`` the answer is due.

    At each of them the slope of forward is measured by two steps of the ladder, unless there is no time even for that,
    and nothing else is looked at. Raises ``FunctionFailed`` where forward fails, or does not return, at all of them.
    """
    alone, began = section.alone(), timing.now()
    returns = math.isfinite(first.seconds)
    time = _Time(max(SLOW, _PATIENCE * first.seconds if returns else _SHARE * (until - began)), until)
    spread = _spread(alone, grid, first.x if returns else math.nan)
    exact, call = _in_double(alone, spread[0], time), alone.op.surrogate_for(alone.wrt, grad_output)
    meant = replace(alone.at(torch.float64, "cpu"), call=call) if call and not alone.sweeps_parameter else None
    width = step or widest_step(grid.span, EPSILON if exact.dtype == torch.float64 else math.inf)
    rows: list[_Row] = []
    refused: list[tuple[float, str]] = []
    most = _MOST_POINTS
    for x in spread:
        try:
            known = first.returned if (x, grad_output) == (first.x, first.grad_output) else None
            returned = (known, None) if known else time.asked(partial(_returned, alone, x, grad_output))
            rows.append(_compared(alone, (exact, meant) if meant else (exact,), x, width, time, *returned))
        except FunctionFailed as failed:
            refused.append((float(x), failed.failure.brief))
            if not rows and (len(refused) >= most or timing.now() - began > _BEGUN * (until - began)):
                raise
        spent, count = (timing.now() - began) / (until - began), len(rows) + len(refused)
        # A power of two, which is the same where all takes a little longer.
        most = 2 ** int(math.log2(min(max(_PLANNED / spent, 1), most))) if count == 1 else most
        if rows and (count >= most or spent > _BEGUN or rows[-1].failure):
            break
    found = _evaluation(alone, exact, meant, grid, grad_output, width, rows, refused, first)
    return _without_jumps(found, first.seconds, until)


def _spread(section: Section, grid: Grid, x: float) -> Array:
    """Points of the grid in an order in which any number of them is spread over it, from ``x`` on if that is inside."""
    shares = np.arange(1, 2 * _MOST_POINTS) * GOLDEN_RATIO % 1
    points = grid.points()
    some = points[(shares * (points.size - 1)).round().astype(np.intp)]
    begin = [x] * (grid.start < x < grid.stop)
    return np.array(list(dict.fromkeys(section.snap(np.array([*begin, *some])).tolist())))


@dataclass(frozen=True)
class _Time:
    """How many seconds a call may take, and until when there is time for any."""

    limit: float
    until: float

    def asked(self, call: Callable[[], _T]) -> _T:
        """What a call returns; raises ``FunctionFailed`` where it takes longer."""
        seconds = min(self.limit, max(self.until - timing.now(), 0.0))
        found = finished_within(seconds, call)
        if found is None:
            raise FunctionFailed(
                Failure("forward", TOOK_TOO_LONG, f"The Function did not return within {seconds:.2g} s.")
            )
        return found

    def heights(self, section: Section, points: Array) -> Array:
        """Forward at each of the points, NaN from where there is no time left. Raises ``FunctionFailed``."""
        found = np.full(points.size, np.nan)
        for place, x in enumerate(points):
            try:
                found[place] = self.asked(partial(section.forward, np.array([x])))[0]
            except FunctionFailed:
                if timing.now() < self.until:
                    raise
                break
        return found


def _in_double(section: Section, x: float, time: _Time) -> Section:
    """The section in double precision on the CPU, or unchanged where the Function does not support that."""
    if section.dtype == torch.float64 and section.device == "cpu":
        return section
    double = double_precision(section)
    try:
        time.asked(partial(double.forward, np.array([x])))
    except FunctionFailed:
        return section
    return double


@dataclass(frozen=True)
class _Row:
    """What backward returned at a point, and the ``heights`` around it of what it is compared with."""

    x: float
    returned: BackwardResult
    failure: Failure | None
    heights: tuple[Array, ...]


def _returned(section: Section, x: float, grad_output: float) -> tuple[BackwardResult, Failure | None]:
    return backward_or_failure(section, np.array([x]), np.array([np.nan]), grad_output)


def _compared(
    section: Section,
    right: tuple[Section, ...],
    x: float,
    width: float,
    time: _Time,
    returned: BackwardResult,
    failure: Failure | None,
) -> _Row:
    known = [returned.values] if right[0] is section and not failure else []
    heights = []
    for each in right:
        heights.append(np.concatenate([*known, time.heights(each, x + width * _STENCIL[len(known) :])]))
        known = []
    return _Row(x, returned if not failure else replace(returned, values=heights[0][:1]), failure, tuple(heights))


def _slopes(section: Section, x: Array, heights: Array, width: float) -> Slopes:
    """The slopes by a ladder of two steps, from the ``heights`` at the stencil (5 × n).

    Its error bound is widened by what two second differences differ by, which holds kinks.
    """
    y, above, below = heights[0], heights[1::2], heights[2::2]
    steps, precision = width * _STEPS, max(torch.finfo(section.dtype).eps / 2, precision_of_values(heights))
    ladder = Ladder(x, y, above, below, steps, (x + steps) - (x - steps), 0.0, precision)
    (value, error, _), bends = ladder.central(), above + below - 2 * y
    error = error + (np.abs(bends[1] - bends[0] / RATIO**2) + 2 * ladder.rounding[1]) / steps[1]
    finite = np.isfinite(error)
    value, error = np.where(finite, value, np.nan), np.where(finite, error, np.inf)
    right, left = (above - y)[1] / steps[1], (y - below)[1] / steps[1]
    sides = error + np.abs(right - left)
    kind = np.where(finite, PointKind.SMOOTH, PointKind.NONFINITE).astype(np.int8)
    curvature = np.abs(bends[1]) / steps[1] ** 2
    return Slopes(value, error, left, right, sides, sides, kind, curvature, ladder.rounding[1], 4.0, width, precision)


def _without_jumps(found: Evaluation, seconds: float, until: float) -> Evaluation:
    """The evaluation with slopes known no better than forward jumps, as a solver does that stops.

    That is looked for at the row that is off by most, if small jumps may explain it. Where there is no time for that,
    as a call takes so many ``seconds``, what such jumps come to themselves is not known.
    """
    expected = None if found.analytical is None or not found.grad_output else found.analytical / found.grad_output
    if expected is None or found.failure or found.numerical.slopes.precision != EPSILON:
        return found
    curve, section = (found.surrogate, found.meant) if found.surrogate else (found.numerical, found.reference)
    slopes, off = curve.slopes, np.abs(expected - curve.slopes.value)
    doubtful = slopes.doubted_by(expected)
    if not doubtful.size or not (off <= most_explained(slopes.value))[doubtful].all() or section is None:
        return found
    worst = doubtful[[(off / np.abs(slopes.value))[doubtful].argmax()]]
    left, near = until - timing.now(), SCATTERED_STEPS * slopes.step
    asked = partial(scatter_along, section, found.rows.x, slopes.value, off, worst, near)
    scatter = finished_within(left, asked) if SCATTER_CALLS * seconds <= left else None
    if scatter is not None:
        known = slopes.known_to(scatter)
    else:
        kind, small = slopes.kind.copy(), off <= most_explained(slopes.value) / EVIDENCE_BOUNDS
        kind[doubtful[small[doubtful]]] = PointKind.UNRESOLVED
        known = replace(slopes, kind=kind)
    seen = replace(curve, slopes=known)
    return replace(found, surrogate=seen) if found.surrogate else replace(found, numerical=seen)


def _evaluation(
    section: Section,
    exact: Section,
    meant: Section | None,
    grid: Grid,
    grad_output: float,
    width: float,
    rows: list[_Row],
    refused: list[tuple[float, str]],
    first: FirstCall,
) -> Evaluation:
    rows = sorted(rows, key=lambda row: row.x)
    x = np.array([row.x for row in rows])
    failure = next((row.failure for row in rows if row.failure), None)
    gradients = [row.returned.grad_input for row in rows if row.returned.grad_input is not None]
    some = np.concatenate(gradients) if len(gradients) == len(rows) else None
    heights = [np.stack(each, axis=1) for each in zip(*(row.heights for row in rows), strict=True)]
    curves = [
        Curve(each[0], _slopes(by, x, each, width)) for by, each in zip((exact, meant), heights, strict=False) if by
    ]
    values = [curve.slopes.value for curve in curves]
    steepest = max(map(largest_magnitude, values))
    largest = abs(grad_output) * steepest
    lost = 0.0 if section.dtype == torch.float64 else tolerance_for(largest, section.dtype).atol
    seconds = format_number(2.0 ** round(math.log2(first.seconds))) if SLOW < first.seconds < math.inf else ""
    return Evaluation(
        section=section,
        reference=exact,
        meant=meant,
        rows=grid_rows(x, ()),
        grid=grid,
        grad_output=grad_output,
        forward=np.concatenate([row.returned.values for row in rows]),
        analytical=some,
        returned_none=any(row.returned.none for row in rows),
        numerical=curves[0],
        surrogate=curves[1] if meant else None,
        largest_gradient=largest,
        local_scale=local_scale(values, steepest if grad_output else 0.0),
        precision_loss=np.full(x.size, lost),
        linearity=Linearity(),
        failure=failure,
        refused=tuple(refused),
        hurried=f"A call takes about {seconds} s" if seconds else "All that is usually looked at takes too long",
    )
