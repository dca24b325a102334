"""Hypotheses for a forward that is flat almost everywhere: straight-through, a rectangular window, a bump."""

from __future__ import annotations

import numpy as np

from ...runtime.arrays import EPSILON, Array, largest_magnitude
from ..formatting.constants import format_measured
from ..sentences.places import MOST_PLACES, runs_among
from .evidence import Evidence, Hypothesis, describe_factor

# The fewest rows of a window, or of one flank of a bump.
_FEW = 3
# Beside a bump there may be lobes of this share of its height.
_LOBES = 0.25
# Safety factor on rounding where the flanks of a bump are checked to be monotone.
_WAVER = 4.0


def straight_through(seen: Evidence) -> Hypothesis | None:
    """Hypothesis: a straight-through estimator, a constant times ``grad_output`` everywhere."""
    share, within = seen.typical(seen.returned[seen.judged])
    if not (seen.all_flat and share and np.isfinite(share)):
        return None
    exceptions = seen.exceptions(0.0, share)
    if exceptions is None:
        return None
    said = (
        f"{_flat(seen)}, yet backward {describe_factor(format_measured(share, within))} {seen.everywhere(exceptions)}"
    )
    return "straight-through", f"{said}: a straight-through estimator."


def window(seen: Evidence) -> Hypothesis | None:
    """Hypothesis: a rectangular window, a constant times ``grad_output`` on a few intervals and 0 elsewhere."""
    if not seen.all_flat:
        return None
    inside = seen.judged & (np.abs(seen.returned) > largest_magnitude(seen.returned[seen.judged]) / 2)
    share, within = seen.typical(seen.returned[inside])
    exceptions = seen.exceptions(0.0, np.where(inside, share, 0.0))
    runs = runs_among(inside, seen.judged)
    if exceptions is None or exceptions.any() or len(runs) > MOST_PLACES or np.count_nonzero(inside) < _FEW:
        return None
    said = (
        f"{_flat(seen)}, yet backward {describe_factor(format_measured(share, within))} "
        f"{seen.where(inside)} and returns 0 elsewhere"
    )
    return "window", f"{said}: a window."


def bump(seen: Evidence) -> Hypothesis | None:
    """Hypothesis: ``grad_output`` times a bump with one peak, and low lobes beside it at most."""
    known = np.isfinite(seen.returned)
    x, share = seen.x[known], seen.returned[known]
    if not (seen.all_flat and x.size and known[seen.judged].all()):
        return None
    sign = 1.0 if share.max() > -share.min() else -1.0
    peak = int((sign * share).argmax())
    if not _one_peak(sign * share, peak, seen.precision):
        return None
    at = (x[peak] + x[share == share[peak]][-1]) / 2
    cell = seen.evaluation.grid.span / seen.evaluation.grid.count
    width = _width(_crossing(x, sign * share, peak, -1), at, _crossing(x, sign * share, peak, 1), cell, seen)
    lobe = float((sign * share).min())
    lobes = f", with lobes down to {_three(sign * lobe)}" if lobe < -_WAVER * seen.precision * abs(share[peak]) else ""
    area = _three(float(np.sum(np.diff(x) * (share[1:] + share[:-1]) / 2)))
    return "bump", (
        f"{_flat(seen)}, yet backward returns grad_output times a bump: {_three(share[peak])} high at {seen.wrt} = "
        f"{format_measured(at, cell / 2)}{width}{lobes}, with area {area}{_rise(seen)}."
    )


def _width(left: float | None, at: float, right: float | None, cell: float, seen: Evidence) -> str:
    """How wide the bump is at half its height, if that is in sight."""
    if left is None or right is None:
        return ""
    if abs((right - at) - (at - left)) <= cell:
        return f", half as high {_three((right - left) / 2)} to either side"
    return f", more than half as high for {_three(left)} < {seen.wrt} < {_three(right)}"


def _flat(seen: Evidence) -> str:
    if np.ptp(seen.values[np.isfinite(seen.values)]) == 0:
        return f"{seen.of} does not move with {seen.wrt}"
    return f"{seen.owner} is flat between its jumps"


def _one_peak(share: Array, peak: int, precision: float) -> bool:
    """Whether the values rise to the peak and fall from there, on both sides, and stay low after they reach 0."""
    waver = (_WAVER * EPSILON + precision / 8) * share[peak]
    zeros = np.flatnonzero(share <= 0)
    first = int(zeros[zeros < peak].max(initial=-1)) + 1
    last = int(zeros[zeros > peak].min(initial=share.size)) - 1
    lobe = share[first : last + 1]
    steps, top = np.diff(lobe), peak - first
    one = bool((steps[:top] >= -waver).all() and (steps[top:] <= waver).all()) and np.unique(lobe).size > 2 * _FEW
    beside = np.abs(np.concatenate((share[:first], share[last + 1 :])))
    falls = max(share[0], share[-1]) < share[peak] * (1 - precision) and 0 < peak < share.size - 1
    return one and bool(falls) and float(beside.max(initial=0.0)) <= _LOBES * share[peak]


def _crossing(x: Array, share: Array, peak: int, towards: int) -> float | None:
    """Where the values have fallen to half the peak, on one side of it."""
    side = slice(peak, None) if towards > 0 else slice(peak, None, -1)
    below = np.flatnonzero(share[side] <= share[peak] / 2)
    if not below.size:
        return None
    far, near = peak + towards * int(below[0]), peak + towards * (int(below[0]) - 1)
    part = (share[near] - share[peak] / 2) / (share[near] - share[far])
    return float(x[near] + part * (x[far] - x[near]))


def _rise(seen: Evidence) -> str:
    """What forward rises by, which the area may be compared with."""
    finite = seen.values[np.isfinite(seen.values)]
    rise = float(finite[-1] - finite[0])
    return f", where {seen.owner} rises by {_three(rise)}" if rise else ""


def _three(value: float) -> str:
    return format_measured(float(f"{value:.3g}"), 0.0)
