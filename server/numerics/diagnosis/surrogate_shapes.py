"""Hypotheses for a forward that is flat almost everywhere: straight-through, a rectangular window, a bump."""

from __future__ import annotations

import numpy as np

from ...runtime.arrays import EPSILON, Array, finite_rise
from ..formatting.numbers import format_measured
from ..sentences.names import MOST_NAMED
from ..sentences.places import runs_among
from ..tolerance import SIMILAR
from .evidence import MIN_ROWS, Evidence, describe_factor
from .scaled import what_is_constant
from .stories import Story

# ulps: the flanks of a bump may go the wrong way by so many; a lobe is mentioned if it is so many tolerances deep.
_MONOTONE_ULPS = 4.0


def straight_through(data: Evidence) -> Story | None:
    """Hypothesis: a straight-through estimator, a constant times ``grad_output`` everywhere."""
    constant = what_is_constant(data) if data.all_flat else {}
    return _stands_in(data, "straight-through/of steps", **constant) if constant else None


def window(data: Evidence) -> Story | None:
    """Hypothesis: a rectangular window, a constant times ``grad_output`` on a few intervals, 0 or another elsewhere."""
    if not data.all_flat:
        return None
    low, high = data.returned[data.judged].min(), data.returned[data.judged].max()
    above = data.returned > (low + high) / 2
    inside = data.judged & (above if high >= -low else ~above)  # of two levels that which is farther from 0
    (share, within), (rest, rest_within) = (
        data.typical(data.returned[data.judged & each]) for each in (inside, ~inside)
    )
    exceptions = data.exceptions(0.0, np.where(inside, share, rest))
    runs = runs_among(inside, data.judged)
    if exceptions is None or exceptions.any() or len(runs) > MOST_NAMED or np.count_nonzero(inside) < MIN_ROWS:
        return None
    shares = (share, within), (rest, rest_within)
    does, otherwise = (describe_factor(format_measured(*each), data.names) for each in shares)
    levels = " of two levels" if rest else ""
    return _stands_in(data, "window", does=does, where=data.where(inside), otherwise=otherwise, levels=levels)


def _stands_in(data: Evidence, story: str, **parts: str) -> Story:
    """By that name where forward jumps: where it does not move at all, nothing is stood in for."""
    return data.tell(story if _moves(data) else f"unfounded/{story.partition('/')[0]}", flat=_flat(data), **parts)


def bump(data: Evidence) -> Story | None:
    """Hypothesis: ``grad_output`` times a bump with one peak, and low lobes beside it at most."""
    known = np.isfinite(data.returned)
    x, share = data.x[known], data.returned[known]
    if not (data.all_flat and x.size and known[data.judged].all()):
        return None
    sign = 1.0 if share.max() > -share.min() else -1.0
    peak = int((sign * share).argmax())
    if not _has_one_peak(sign * share, peak, data.precision):
        return None
    at = (x[peak] + x[share == share[peak]][-1]) / 2
    cell = data.evaluation.grid.span / data.evaluation.grid.count
    width = _width(_crossing(x, sign * share, peak, -1), at, _crossing(x, sign * share, peak, 1), cell, data)
    lobe = float((sign * share).min())
    deep = lobe < -_MONOTONE_ULPS * data.precision * abs(share[peak])
    lobes = f", with lobes down to {_short(sign * lobe)}" if deep else ""
    area = _short(float(np.sum(np.diff(x) * (share[1:] + share[:-1]) / 2)))
    finite = data.values[np.isfinite(data.values)]
    rise = float(finite[-1] - finite[0])
    rises = f", where {data.owner} rises by {_short(rise)}" if rise else ""
    said = {"width": width, "lobes": lobes, "area": area, "rises": rises}
    return data.tell("bump", flat=_flat(data), peak=_short(share[peak]), at=format_measured(at, cell / 2), **said)


def _width(left: float | None, at: float, right: float | None, cell: float, data: Evidence) -> str:
    """How wide the bump is at half its height, if that is in sight."""
    if left is None or right is None:
        return ""
    if abs((right - at) - (at - left)) <= cell:
        return f", half as high {_short((right - left) / 2)} to either side"
    return f", more than half as high for {_short(left)} < {data.names.wrt} < {_short(right)}"


def _flat(data: Evidence) -> str:
    still = f"{data.names.of} does not move with {data.names.wrt}"
    return f"{data.owner} is flat between its jumps" if _moves(data) else still


def _moves(data: Evidence) -> bool:
    return finite_rise(data.values) != 0


def _has_one_peak(share: Array, peak: int, precision: float) -> bool:
    """Whether the values rise to the peak and fall from there, on both sides, and stay low after they reach 0."""
    tolerance = (_MONOTONE_ULPS * EPSILON + precision / 8) * share[peak]
    zeros = np.flatnonzero(share <= 0)
    first = int(zeros[zeros < peak].max(initial=-1)) + 1
    last = int(zeros[zeros > peak].min(initial=share.size)) - 1
    lobe = share[first : last + 1]
    steps, top = np.diff(lobe), peak - first
    monotone = bool((steps[:top] >= -tolerance).all() and (steps[top:] <= tolerance).all())
    monotone = monotone and np.unique(lobe).size > 2 * MIN_ROWS
    lobes = np.abs(np.concatenate((share[:first], share[last + 1 :])))
    falls = max(share[0], share[-1]) < share[peak] * (1 - precision) and 0 < peak < share.size - 1
    return monotone and bool(falls) and float(lobes.max(initial=0.0)) <= SIMILAR * share[peak]


def _crossing(x: Array, share: Array, peak: int, towards: int) -> float | None:
    """Where the values have fallen to half the peak, on one side of it."""
    side = slice(peak, None) if towards > 0 else slice(peak, None, -1)
    below = np.flatnonzero(share[side] <= share[peak] / 2)
    if not below.size:
        return None
    far, near = peak + towards * int(below[0]), peak + towards * (int(below[0]) - 1)
    part = (share[near] - share[peak] / 2) / (share[near] - share[far])
    return float(x[near] + part * (x[far] - x[near]))


def _short(value: float) -> str:
    return format_measured(float(f"{value:.3g}"), 0.0)
