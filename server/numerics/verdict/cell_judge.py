"""The judge of a cell between two rows: whether forward rises by the area under what backward returned."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Array, Mask, consecutive_differences, median
from ..curve.integral_check import IntegralCheck
from ..status import Status
from ..tolerance import NEARLY_ALL, SIMILAR, SMALL, Allowed
from .slope_judge import Statuses

# sample: cells are judged alone and in runs of these lengths: a small error everywhere adds up over a run, while
# rounding enters only at its two ends.
_RUNS = (1, 4, 16, 64)
_SURELY = 0.99  # bound: a share that leaves room for the rounding of a sum
# bound: a factor is told by at least so many cells, and by five times the noise, of which the bound is three times.
_MIN_CELLS, _CERTAIN = 8, 5 / 3


def judge_cells(area: IntegralCheck, allowed: Allowed, largest_gradient: float, grad_output: float) -> Statuses:
    """A status a cell: whether forward rises by the area under what backward returned.

    ``largest_gradient`` is the largest ``grad_input`` that is called for and returned, ``allowed`` what is at the rows.
    """
    with np.errstate(all="ignore"):
        width = area.right - area.left
        off, slack = area.residual, _slack(area, allowed, grad_output)
        finite = np.isfinite(off)
        whole = finite & ~area.leaps
        steepest = width * largest_gradient
        certain = whole.all() and (slack + area.noise[:-1] + area.noise[1:] <= SMALL * steepest).all()
        if certain and _is_noise(off, slack, area.noise):
            return np.full(off.shape, Status.AGREES, np.int8)
        status = np.full(off.shape, Status.UNDECIDED, np.int8)
        if not whole.all():
            status[~finite], status[finite & area.leaps] = Status.GAP, Status.JUMP
            off = np.where(whole, off, 0.0)
        cells = np.zeros((3, off.size + 1))
        cells[:, :-1] = off, slack, steepest
        _judge_runs(status, whole, cells, area.noise)
    return status


def _is_noise(off: Array, slack: Array, noise: Array) -> bool:
    """Whether no run of cells can be off by more than its slack and the noise at its two ends.

    So it is where each cell is within its slack, and where what the cells before each end add up to, but for one
    number, is within the noise of that end.
    """
    if (np.abs(off) <= _SURELY * slack).all():
        return True
    before = np.concatenate(([0.0], np.cumsum(off)))
    return bool((np.abs(before - median(before)) <= _SURELY * noise).all())


def _slack(area: IntegralCheck, allowed: Allowed, grad_output: float) -> Array:
    """The largest residual that each cell may have, but for forward's noise at the two ends of a run of them."""
    ends = allowed.at(area.ends)
    share, rounding = np.asarray(ends.share), np.asarray(ends.rounding(grad_output))
    atol = allowed.tolerance.atol * np.maximum(share[:-1], share[1:])
    off = atol + np.maximum(rounding[:-1], rounding[1:])
    slack: Array = (area.right - area.left) * off + allowed.tolerance.rtol * area.size + area.unsure
    return slack


def allowed_residual(area: IntegralCheck, allowed: Allowed, grad_output: float) -> Array:
    """The largest residual that each cell may have and still agree, with what is ``allowed`` at the rows."""
    return _slack(area, allowed, grad_output) + area.noise[:-1] + area.noise[1:]


def off_by_a_factor(area: IntegralCheck, cells: Statuses, allowed: Allowed, grad_output: float) -> Mask:
    """The cells that differ, if forward rises in nearly all cells by one multiple of what backward accounts for.

    That of least squares: noise at the end of a cell is that of the next with the other sign, and all but cancels; what
    else is allowed does not. No wave that is seen rises so, nor, where single steps are traced in double precision, a
    staircase: so they need no look at a smaller scale.
    """
    judged = (cells != Status.GAP) & (cells != Status.JUMP)
    accounted, off = (np.where(judged, each, 0.0) for each in (area.area, area.residual))
    size, square = np.abs(accounted), float(accounted @ accounted)
    if not square**2 > _MIN_CELLS * (size**4).sum():
        return np.zeros_like(judged)
    slack, found = _slack(area, allowed, grad_output), float(accounted @ off) / square
    noise = np.linalg.norm(consecutive_differences(np.concatenate(([0.0], accounted, [0.0]))) * area.noise)
    # Where it rises by nothing, or by far more, it is flat in a step, or rises in one.
    certain = SIMILAR < abs(1 + found) < 1 / SIMILAR and abs(found) * square > size @ slack + _CERTAIN * noise
    fits = np.abs(off - found * accounted) <= slack + area.noise[:-1] + area.noise[1:] + SIMILAR * abs(found) * size
    return (cells == Status.DIFFERS) & fits & bool(certain and fits[judged].mean() >= NEARLY_ALL)


def _judge_runs(status: Statuses, whole: Mask, cells: Array, noise: Array) -> None:
    """Judge all runs of cells with no gap and no culprit in them; the verdict holds for all cells of a run.

    ``cells`` are the residual of each, what is allowed of it, and how much the steepest gradient makes of its width,
    with one of 0 behind them.
    """
    edges, lengths = _runs(status.size)
    off, slack, steepest = np.add.reduceat(cells, edges.ravel(), axis=1)[:, ::2]
    allowed = slack + noise[edges[:, 0]] + noise[edges[:, 1]]
    beyond = np.abs(off) > allowed
    within = (np.abs(off) <= allowed) & (allowed <= SMALL * steepest)
    for length, of in lengths:
        if not (beyond[of].any() or (status == Status.UNDECIDED).any()):
            continue
        judged = np.append(whole & (status != Status.DIFFERS), True)
        unbroken = np.logical_and.reduceat(judged, edges[of].ravel())[::2]
        differing, agreeing = (edges[of, 0][unbroken & each[of], None] + np.arange(length) for each in (beyond, within))
        status[differing] = Status.DIFFERS
        status[agreeing[status[agreeing] == Status.UNDECIDED]] = Status.AGREES


@lru_cache(maxsize=16)
def _runs(count: int) -> tuple[NDArray[np.intp], tuple[tuple[int, slice], ...]]:
    """Where runs of so many cells begin, and behind which cell they end, and which of them have which length.

    The last run of each length ends with the last cell.
    """
    edges: list[tuple[int, int]] = []
    lengths = []
    for length in _RUNS:
        if length <= count:
            firsts = [*range(0, count - length + 1, length), *([count - length] if count % length else [])]
            lengths.append((length, slice(len(edges), len(edges) + len(firsts))))
            edges += [(first, first + length) for first in firsts]
    return np.array(edges, np.intp).reshape(-1, 2), tuple(lengths)
