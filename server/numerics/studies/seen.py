"""What backward returns at the numbers that a step has seen, each for the grad_output that it got there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Array, Mask
from ...runtime.batching import find_batch
from ...runtime.failure import FunctionFailed
from ...runtime.section import Section
from ..curve.evaluate import Grid, evaluate
from ..curve.evaluation import Evaluation
from ..sampling.grid import thin_grid
from ..status import Status
from ..verdict.curve_judge import allowed_along, judge_returned
from ..verdict.slope_judge import Statuses
from ..verdict.verdict import Verdict, judge, judged_curve

_MOST, _POINTS = 1024, 201  # sample: numbers that are judged, and evenly spaced points beside them
_ELEMENTS = 1 << 22  # budget: of the inputs of all numbers together
_LEAST = 32  # sample: where a call is large
_WIDER = 0.01  # sample: how far these go beyond, as a share of the range


@dataclass(frozen=True)
class SeenPoints:
    """The numbers that were judged, by their places ``which`` among the given ones.

    For each its status, and whether backward ``stopped`` the gradient and forward is ``flat`` there. ``bends`` are the
    kinks and jumps in their range.
    """

    which: NDArray[np.intp]
    status: Statuses
    stopped: Mask
    flat: Mask
    bends: tuple[float, ...]


def judge_seen(section: Section, x: Array, grad_output: Array, step: float | None) -> SeenPoints | None:
    """Judge backward at each ``x`` for its ``grad_output``; of many numbers some.

    None where no number is finite, or nothing comes back. Raises ``FunctionFailed``.
    """
    which = np.flatnonzero(np.isfinite(x) & np.isfinite(grad_output))
    if not which.size:
        return None
    low, high = float(section.snap(x[which]).min()), float(section.snap(x[which]).max())
    beyond = _WIDER * (high - low) or max(abs(low), 1.0)
    grid = Grid(low - beyond, high + beyond, _POINTS)
    batched = find_batch(section, section.snap(grid.points())).section
    fitting = _ELEMENTS // sum(len(values) for _, values in section.inputs)
    most = min(thin_grid(batched, Grid(low, high, _MOST), 1.0).count, max(_LEAST, fitting))
    which = which[np.linspace(0, which.size - 1, min(which.size, most)).round().astype(int)]
    x, given = section.snap(x[which]), grad_output[which]
    also = np.setdiff1d(x, section.snap(grid.points()))
    size, signed = x.size, section.op.follows_sign
    found = SeenPoints(which, np.full(size, Status.GAP, np.int8), np.zeros(size, bool), np.zeros(size, bool), ())
    for sign in (1.0, -1.0) if signed else (1.0,):
        rows = np.flatnonzero((np.where(given < 0, -1.0, 1.0) == sign) | (not signed))
        if not rows.size:
            continue
        evaluation = evaluate(section, grid, sign, step, also)
        if evaluation.failure or evaluation.analytical is None:
            return None
        at = np.searchsorted(evaluation.rows.x, x[rows]).clip(max=evaluation.rows.x.size - 1)
        share = _returned(evaluation, at, x[rows], given[rows])
        found.status[rows] = _statuses(evaluation, judge(evaluation), at, share)
        found.stopped[rows] = share == 0
        found.flat[rows] = evaluation.numerical.slopes.value[at] == 0
        found = replace(found, bends=tuple(float(each.x) for each in evaluation.special))
    return found


def _returned(evaluation: Evaluation, at: NDArray[np.intp], x: Array, given: Array) -> Array:
    """What backward returned at the rows ``at`` per unit of grad_output: of one that is not linear, of its own."""
    assert evaluation.analytical is not None
    share = evaluation.analytical[at].copy()
    moved = given != 0
    if evaluation.linearity.holds or not moved.any():
        return share
    try:
        returned = evaluation.section.backward(x[moved], given[moved]).grad_input
    except FunctionFailed:
        return share
    if returned is not None:
        share[moved] = evaluation.grad_output * returned / given[moved]
    return share


def _statuses(evaluation: Evaluation, verdict: Verdict, at: NDArray[np.intp], share: Array) -> Statuses:
    """The status of the rows ``at``: as on the curve, where backward is linear."""
    if evaluation.linearity.holds:
        return verdict.against.status[at]
    curve = judged_curve(evaluation, verdict)
    allowed = allowed_along(evaluation, curve, verdict.allowed).at(at)
    return judge_returned(evaluation, share, curve.slopes.at(at), allowed)
