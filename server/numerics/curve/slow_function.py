"""The section of a slow Function: at few points, called one by one, what backward returns and the slope of forward."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
import torch

from ...runtime import timing
from ...runtime.arrays import EPSILON, Array, largest_magnitude
from ...runtime.batching import GOLDEN_RATIO, WITNESS_SHARES
from ...runtime.failure import TOOK_TOO_LONG, Failure, FunctionFailed
from ...runtime.reference import double_precision
from ...runtime.remembered import remembered
from ...runtime.section import BackwardResult, Section
from ...runtime.timeouts import finished_within
from ..differentiation.finite_differences import RATIO, PointKind, Slopes, widest_step
from ..formatting.numbers import format_number
from ..linearity.laws import Linearity
from ..sampling.grid import Grid, grid_rows
from ..tolerance import tolerance_for
from .curve import Curve, local_scale
from .evaluation import Evaluation
from .row_values import backward_or_failure

_T = TypeVar("_T")
# budget: the seconds of a call up to which there is time for all that is looked at, and those that all of it may take.
QUICK, ALL_SECONDS = 0.25, 4.0
# budget: else points are planned for so many seconds, begun in half of them, and there are at most so many; the first
# call may take so many seconds, and each other so many times as long as the first.
_SECONDS, _MOST_POINTS, _FIRST_SECONDS, _PATIENCE = 6.0, 16, 4.0, 4.0
# budget: what took longer is not asked for again, unless it may have been compiled the first time.
_ASKED_AGAIN, _COMPILERS = 1.0, {"torch._dynamo", "numba"}
# sample: the heights that are asked for around a point, in steps.
_STENCIL = np.array([0.0, 1.0, -1.0, 1 / RATIO, -1 / RATIO])


@dataclass(frozen=True)
class FirstCall:
    """How many ``seconds`` a call for backward takes at ``x`` with ``grad_output``, and what it ``returned``.

    They are ∞ where it does not return.
    """

    x: float
    grad_output: float
    seconds: float
    returned: BackwardResult | None = None


@remembered(lambda first: first.seconds <= QUICK)
def first_call(alone: Section, grad_output: float) -> FirstCall:
    """The first call of a section, within its domain. It takes no time where it fails, as others will."""
    domains = [each.domain for each in alone.op.inputs if each.name == alone.wrt]
    if not domains or alone.across:
        return FirstCall(math.nan, grad_output, 0.0)
    (low, high), seconds, returned = domains[0], math.inf, None
    x = alone.snap(np.array([low + WITNESS_SHARES[1] * (high - low)]))
    try:
        for _ in range(2):  # what is imported or compiled the first time does not count
            began = timing.now()
            returned = finished_within(_FIRST_SECONDS, partial(alone.backward, x, grad_output))
            seconds = timing.now() - began if returned else math.inf
            if seconds <= QUICK or (seconds > _ASKED_AGAIN and not _COMPILERS & sys.modules.keys()):
                break
    except FunctionFailed:
        seconds = 0.0
    return FirstCall(float(x[0]), grad_output, seconds, returned)


@np.errstate(all="ignore")
def evaluate_few(section: Section, grid: Grid, grad_output: float, step: float | None, first: FirstCall) -> Evaluation:
    """Evaluate a slow ``section`` at as many points of the ``grid`` as there is time for.

    At each of them the slope of forward is measured by two central differences, and nothing else is looked at. Raises
    ``FunctionFailed`` where forward fails, or does not return, at all of them.
    """
    alone = section.alone()
    limit = _FIRST_SECONDS if math.isinf(first.seconds) else max(QUICK, _PATIENCE * first.seconds)
    spread = _spread(alone, grid, first.x)
    exact, call = _in_double(alone, spread[0], limit), alone.op.surrogate_for(alone.wrt, grad_output)
    meant = replace(alone.at(torch.float64, "cpu"), call=call) if call and not alone.sweeps_parameter else None
    width = step or widest_step(grid.span, EPSILON if exact.dtype == torch.float64 else math.inf)
    rows: list[_Row] = []
    refused: list[tuple[float, str]] = []
    began, most = timing.now(), _MOST_POINTS
    for x in spread:
        try:
            known = first.returned if (x, grad_output) == (first.x, first.grad_output) else None
            returned = (known, None) if known else _asked(partial(_returned, alone, x, grad_output), limit)
            rows.append(_compared(alone, (exact, meant) if meant else (exact,), x, width, limit, *returned))
        except FunctionFailed as failed:
            refused.append((float(x), failed.failure.brief))
            if not rows and (len(refused) >= most or timing.now() - began > _SECONDS / 2):
                raise
        spent, count = timing.now() - began, len(rows) + len(refused)
        # A power of two, which is the same where all takes a little longer.
        most = 2 ** int(math.log2(min(max(_SECONDS / spent, 1), most))) if count == 1 else most
        if rows and (count >= most or spent > _SECONDS / 2 or rows[-1].failure):
            break
    return _evaluation(alone, exact, meant, grid, grad_output, width, rows, refused, first)


def _spread(section: Section, grid: Grid, x: float) -> Array:
    """Points of the grid in an order in which any number of them is spread over it, from ``x`` on if that is inside."""
    shares = np.arange(1, 2 * _MOST_POINTS) * GOLDEN_RATIO % 1
    points = grid.points()
    some = points[(shares * (points.size - 1)).round().astype(np.intp)]
    begin = [x] * (grid.start < x < grid.stop)
    return np.array(list(dict.fromkeys(section.snap(np.array([*begin, *some])).tolist())))


def _in_double(section: Section, x: float, limit: float) -> Section:
    """The section in double precision on the CPU, or unchanged where the Function does not support that."""
    if section.dtype == torch.float64 and section.device == "cpu":
        return section
    double = double_precision(section)
    try:
        _asked(partial(double.forward, np.array([x])), limit)
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
    limit: float,
    returned: BackwardResult,
    failure: Failure | None,
) -> _Row:
    known = [returned.values] if right[0] is section and not failure else []
    heights = []
    for each in right:
        asked = x + width * _STENCIL[len(known) :]
        heights.append(np.concatenate([*known, *(_asked(partial(each.forward, t), limit) for t in asked[:, None])]))
        known = []
    return _Row(x, returned if not failure else replace(returned, values=heights[0][:1]), failure, tuple(heights))


def _asked(call: Callable[[], _T], limit: float) -> _T:
    """What a call returns; raises ``FunctionFailed`` where it takes longer than the limit."""
    found = finished_within(limit, call)
    if found is None:
        raise FunctionFailed(Failure("forward", TOOK_TOO_LONG, f"The Function did not return within {limit:.2g} s."))
    return found


def _slopes(section: Section, x: Array, heights: Array, width: float) -> Slopes:
    """The slopes by the finer of two central differences, from the ``heights`` at the stencil (5 × n).

    What both of them, and two second differences, differ by bounds the error: it holds truncation, kinks and noise.
    """
    y, precision = heights[0], torch.finfo(section.dtype).eps / 2
    above, below = heights[1::2], heights[2::2]
    steps = width * np.array([[1.0], [1 / RATIO]])
    differences, bends = (above - below) / (2 * steps), above + below - 2 * y
    rounding = 4 * precision * (np.abs(y) + np.abs(x * differences[1]))
    error = np.abs(differences[1] - differences[0]) + (np.abs(bends[1] - bends[0] / RATIO**2) + rounding) / steps[1]
    finite = np.isfinite(error)
    value, error = np.where(finite, differences[1], np.nan), np.where(finite, error, np.inf)
    right, left = (above - y)[1] / steps[1], (y - below)[1] / steps[1]
    sides = error + np.abs(right - left)
    kind = np.where(finite, PointKind.SMOOTH, PointKind.NONFINITE).astype(np.int8)
    curvature = np.abs(bends[1]) / steps[1] ** 2
    return Slopes(value, error, left, right, sides, sides, kind, curvature, rounding, 4.0, width, precision)


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
    seconds = format_number(2.0 ** round(math.log2(first.seconds))) if QUICK < first.seconds < math.inf else ""
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
        area=None,
        surrogate_area=None,
        special=(),
        deterministic=True,
        linearity=Linearity(),
        whole_range=None,
        failure=failure,
        refused=tuple(refused),
        hurried=f"A call takes about {seconds} s" if seconds else "All that is usually looked at takes too long",
    )
