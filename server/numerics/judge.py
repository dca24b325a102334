"""Whether backward and forward tell one story: a status per point, a verdict per section."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from .differences import Kind, Slopes
from .evaluate import Curve, Evaluation
from .noise import Array

Word = Literal["matches", "matches its surrogate", "differs", "undecided", "no gradient", "failed"]
Interval = tuple[float, float]

# How many of its own error bounds a difference may be off before it counts as evidence.
BOUNDS = 10.0
# Units in the last place, of itself and of the largest slope in sight, that a correct backward may lose,
# by the size of the dtype in bytes: long ones have places to spare.
PLACES = {8: 4096.0, 4: 1024.0, 2: 8.0}
# A band wider than this share of the slopes in sight decides nothing.
WIDE = 0.1


class Status(IntEnum):
    """What one point says of backward."""

    AGREES = 0
    SUBGRADIENT = 1
    JUMP = 2
    EDGE = 3
    UNDECIDED = 4
    DIFFERS = 5
    GAP = 6


@dataclass(frozen=True)
class Tolerance:
    """``|analytical − numerical| <= atol + rtol |numerical|``, beyond the numerical error bound."""

    atol: float
    rtol: float


@dataclass(frozen=True)
class Comparison:
    """backward against the slopes of one function: a status a row, and where the two differ."""

    status: NDArray[np.int8]
    intervals: tuple[Interval, ...]
    worst: int | None
    """The row with the largest difference among those that differ."""

    def count(self, *statuses: Status) -> int:
        """How many rows have one of these statuses."""
        return int(np.isin(self.status, statuses).sum())


@dataclass(frozen=True)
class Verdict:
    """``word`` sums up; ``against`` is the comparison it rests on, ``forward`` the one with forward itself."""

    word: Word
    forward: Comparison
    against: Comparison
    tolerance: Tolerance


def judge(evaluation: Evaluation, dtype: torch.dtype, atol: float | None = None, rtol: float | None = None) -> Verdict:
    """The verdict on a section whose gradient was computed in ``dtype``; tolerances are chosen if None."""
    tolerance = _tolerance(evaluation, dtype, atol, rtol)
    forward = _compare(evaluation, evaluation.numerical.slopes, tolerance)
    if evaluation.failure:
        return Verdict("failed", forward, forward, tolerance)
    if evaluation.analytical is None:
        return Verdict("no gradient", forward, forward, tolerance)
    word = _word(forward)
    if word == "matches" or evaluation.surrogate is None:
        return Verdict(word, forward, forward, tolerance)
    surrogate = _compare(evaluation, evaluation.surrogate.slopes, tolerance)
    if _word(surrogate) == "matches":
        return Verdict("matches its surrogate", forward, surrogate, tolerance)
    return Verdict(_word(surrogate), forward, surrogate, tolerance)


def judged_by(evaluation: Evaluation, verdict: Verdict) -> Curve:
    """The curve whose slopes the verdict rests on: the forward's, or the surrogate's."""
    if verdict.against is verdict.forward or evaluation.surrogate is None:
        return evaluation.numerical
    return evaluation.surrogate


def _tolerance(evaluation: Evaluation, dtype: torch.dtype, atol: float | None, rtol: float | None) -> Tolerance:
    """Some last places of the dtype, of the slope itself and of the largest slope in sight."""
    precision = PLACES[dtype.itemsize] * torch.finfo(dtype).eps
    chosen = max(precision * _in_sight(evaluation), torch.finfo(dtype).tiny)
    return Tolerance(
        atol=min(chosen, torch.finfo(torch.float64).max) if atol is None else atol,
        rtol=precision if rtol is None else rtol,
    )


def _in_sight(evaluation: Evaluation) -> float:
    """The largest ``grad_input`` that either curve calls for; beside a pole, all but the steepest percent."""
    broken = any(each.kind == "pole" for each in evaluation.singularities) or not np.isfinite(evaluation.forward).all()
    curves = [evaluation.numerical, evaluation.surrogate or evaluation.numerical]
    return abs(evaluation.grad_output) * max(_largest(curve.slopes.value, 0.99 if broken else 1.0) for curve in curves)


def _largest(values: Array, share: float = 1.0) -> float:
    """The largest finite magnitude of this share of the values."""
    magnitude = np.abs(values[np.isfinite(values)])
    return float(np.quantile(magnitude, share)) if magnitude.size else 0.0


def _compare(evaluation: Evaluation, slopes: Slopes, tolerance: Tolerance) -> Comparison:
    status = np.full(slopes.kind.shape, Status.GAP, np.int8)
    if evaluation.analytical is None:
        return Comparison(status, (), None)
    with np.errstate(all="ignore"):
        return _compared(evaluation, evaluation.analytical, slopes, tolerance, status)


def _compared(
    evaluation: Evaluation, analytical: Array, slopes: Slopes, tolerance: Tolerance, status: NDArray[np.int8]
) -> Comparison:
    scale = evaluation.grad_output
    numerical = scale * slopes.value
    band = BOUNDS * abs(scale) * (slopes.error + _conditioning(evaluation, slopes))
    off = np.abs(analytical - numerical)
    allowed = tolerance.atol + tolerance.rtol * np.abs(numerical)
    kind = slopes.kind

    smooth = kind == Kind.SMOOTH
    near = off <= allowed + band
    # A constant has no slope to measure the band by, but it has a height.
    height = abs(scale) * _largest(evaluation.numerical.values) / evaluation.grid.span
    vague = band > allowed + WIDE * (np.abs(numerical) + _in_sight(evaluation) + height)
    status[smooth & near] = Status.AGREES
    status[smooth & near & vague] = Status.UNDECIDED
    status[smooth & ~near] = Status.DIFFERS

    low, high = (
        np.minimum(scale * slopes.left, scale * slopes.right),
        np.maximum(scale * slopes.left, scale * slopes.right),
    )
    # One-sided slopes are known to a few places less than central ones.
    slack = tolerance.atol + (tolerance.rtol + 1e-7) * (np.abs(analytical) + np.abs(high - low))
    between = (analytical >= low - slack) & (analytical <= high + slack)
    kink = kind == Kind.KINK
    status[kink] = np.where(between, Status.SUBGRADIENT, Status.DIFFERS)[kink]
    status[kink & ~np.isfinite(low + high)] = Status.UNDECIDED

    edge = kind == Kind.EDGE
    status[edge] = np.where(near, Status.AGREES, Status.EDGE)[edge]
    status[kind == Kind.JUMP] = Status.JUMP
    status[kind == Kind.UNRESOLVED] = Status.UNDECIDED
    status[~np.isfinite(evaluation.forward) & (status != Status.JUMP)] = Status.GAP
    absent = ~np.isfinite(analytical) & np.isfinite(slopes.value) & smooth & np.isfinite(evaluation.forward)
    status[absent] = Status.DIFFERS
    off[~np.isfinite(off)] = np.inf
    return Comparison(status, _intervals(evaluation.rows.x, status), _worst(off, status == Status.DIFFERS))


def _conditioning(evaluation: Evaluation, slopes: Slopes) -> Array:
    """How far a slope moves when ``x`` does by half a last place of the dtype: no backward can do better."""
    x, value = evaluation.rows.x, slopes.value
    turn = np.abs(np.diff(value) / np.diff(x))
    turn[~np.isfinite(turn)] = 0.0
    return evaluation.precision / 2 * np.abs(x) * np.maximum(np.append(turn, 0.0), np.append(0.0, turn))


def _worst(off: Array, differs: NDArray[np.bool_]) -> int | None:
    """The row that is furthest off; of a whole stretch that is equally so, the one in its middle."""
    if not differs.any():
        return None
    off = np.where(differs, off, -1.0)
    ties = np.flatnonzero(off >= 0.999 * off.max())
    stretch = np.split(ties, np.flatnonzero(np.diff(ties) > 1) + 1)
    longest = max(stretch, key=len)
    return int(longest[len(longest) // 2])


def _intervals(x: Array, status: NDArray[np.int8]) -> tuple[Interval, ...]:
    """Where neighbouring rows differ, out to the kink, jump or agreeing point that ends each run."""
    differs = status == Status.DIFFERS
    edges = np.diff(np.concatenate(([0], differs.view(np.int8), [0])))
    runs = zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1, strict=True)
    found: list[Interval] = []
    for first, last in runs:
        low, high = float(x[_reach(status, int(first), -1)]), float(x[_reach(status, int(last), 1)])
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], high)
        else:
            found.append((low, high))
    return tuple(found)


def _reach(status: NDArray[np.int8], row: int, towards: int) -> int:
    """The row of the singularity next to ``row``, if there is one that way, else ``row``."""
    beside = row + towards
    while 0 <= beside < status.size and status[beside] in (Status.EDGE, Status.GAP):
        beside += towards
    if 0 <= beside < status.size and status[beside] in (Status.SUBGRADIENT, Status.JUMP, Status.UNDECIDED):
        return beside
    return row


def _word(comparison: Comparison) -> Word:
    if comparison.worst is not None:
        return "differs"
    judged = comparison.count(Status.AGREES, Status.SUBGRADIENT)
    if judged == 0 or comparison.count(Status.UNDECIDED) > judged:
        return "undecided"
    return "matches"
