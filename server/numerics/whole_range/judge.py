"""The judge of the whole range: where backward contradicts forward beyond doubt, over many orders of magnitude."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ...runtime.arrays import Array, Mask
from ...runtime.section import Section
from ..differentiation.noise import moving_maximum
from .domain_reach import DomainReach
from .log_grid import indices_outwards, largest_further_in, log_grid_points
from .multiscale import confirm_on_all_scales
from .relative_steps import RelativeStepSlopes, forward_within, relative_step_slopes

# The points where each costs a call of its own: few if a call takes more than these seconds, else the most.
_FEW_ALONE, _MOST_ALONE, _SECONDS = 12, 36, 2e-3
# The tolerance, relative to the slope and to those around it; coarse, as only gross errors are looked for.
_TOLERANCE, _PLACES = {8: 1e-6, 4: 1e-3}, 16.0
_BOUNDS, _VAGUE = 10.0, 0.1
# Closer to 0 than this, cancellation makes forward and backward unreliable.
_LEAST = 1e-8
# Three consecutive points beyond 0.1 with a relative error above 2 %: forward oscillates faster than the steps of
# the differences, and nothing farther out is judged.
_UNSETTLED, _ROW, _OUTWARDS = 0.02, 3, 0.1
# A NaN or infinite gradient is an error only if it occurs at an ordinary magnitude: up to the fourth root of the
# largest number, and this limit. Farther out, squares overflow in correct Functions too.
_QUARTER, _FAR = 0.25, 1e6
# Values that differ by more than this fraction from those in double precision are not judged; a smaller difference, or
# some last places, allows for a gradient that is off by a multiple of it over |x|.
_UNLIKE, _FOLLOWS, _LAST_PLACES = 0.1, 4.0, 8.0
# The number of differing points that are evaluated again one by one, and the relative tolerance of the comparison.
_WITNESSES, _SAME = 4, 1e-2


@dataclass(frozen=True)
class RangeMeasurements:
    """One section at many points: analytical gradient, measured slopes, and the ``allowed`` difference."""

    section: Section
    reference: Section
    grad_output: float
    reach: DomainReach
    x: Array
    values: Array
    analytical: Array
    measured: RelativeStepSlopes
    allowed: Array
    scale: Array

    @property
    def drawn(self) -> Mask:
        """Whether forward is finite, so that the point can be judged."""
        return np.isfinite(self.values) & np.isfinite(self.measured.y)


@dataclass(frozen=True)
class RangeJudgement:
    """Where backward agrees, where it differs, and the slope of forward that this is based on, NaN where unknown."""

    agrees: Mask
    differs: Mask
    slope: Array
    error: Array


def measure_range(
    section: Section, reference: Section, grad_output: float, reach: DomainReach, in_sight: float
) -> RangeMeasurements | None:
    """The measurements of a section within ``reach``; None without a gradient. Raises ``FunctionFailed``."""
    alone = _MOST_ALONE if reach.seconds < _SECONDS else _FEW_ALONE
    x = np.unique(section.snap(log_grid_points(section.dtype, reach, None if section.stacked else alone)))
    returned = section.backward(x, grad_output) if x.size else None
    if returned is None or returned.grad_input is None:
        return None
    measured, size, info = relative_step_slopes(reference, reach, x), np.abs(x), torch.finfo(section.dtype)
    expected = np.abs(grad_output * measured.slope)
    known = np.where(measured.error <= _VAGUE * np.abs(measured.slope), expected, 0.0)
    near_1 = expected[(size > 0.1) & (size < 10.0) & np.isfinite(expected)]
    usual = float(np.median(near_1)) if near_1.size else 0.0
    scale = np.maximum(largest_further_in(x, known), max(in_sight, usual))
    unlike = np.abs(returned.values - measured.y) / np.abs(measured.y)
    unlike[~np.isfinite(unlike)] = 0.0
    allowed = _TOLERANCE.get(section.dtype.itemsize, _PLACES * info.eps) * (expected + scale) + info.tiny
    height = np.nan_to_num(np.abs(measured.y), posinf=0.0)
    allowed += (
        abs(grad_output) * np.maximum(_FOLLOWS * moving_maximum(unlike, 2), _LAST_PLACES * info.eps) * height / size
    )
    return RangeMeasurements(
        section, reference, grad_output, reach, x, returned.values, returned.grad_input, measured, allowed, scale
    )


def judge_range(seen: RangeMeasurements) -> RangeJudgement:
    """Compare backward with the measured slopes. It differs where it contradicts forward on every scale."""
    measured, scale = seen.measured, abs(seen.grad_output)
    expected, band = seen.grad_output * measured.slope, _BOUNDS * scale * measured.error
    off = np.abs(seen.analytical - expected)
    # A constant has no slope that the error band could be compared with, but it has a height.
    height = scale * np.abs(measured.y) / np.abs(seen.x)
    vague = band > seen.allowed + _VAGUE * (np.abs(expected) + seen.scale + height)
    agrees = seen.drawn & (off <= seen.allowed + band) & ~vague
    least = torch.finfo(seen.section.dtype).tiny
    like = np.abs(seen.values - measured.y) <= _UNLIKE * (np.abs(seen.values) + np.abs(measured.y)) + least
    suspect = seen.drawn & like & np.isfinite(seen.analytical) & (off > seen.allowed + band)
    doubtful = (measured.error > _UNSETTLED * np.abs(measured.slope) + 30 * measured.noise) & (band > seen.allowed)
    slope, error = measured.slope.copy(), measured.error.copy()
    differs = np.zeros_like(suspect)
    rows = np.flatnonzero(suspect)
    if rows.size and scale:
        closer = confirm_on_all_scales(
            forward_within(seen.reference, seen.reach),
            seen.x[rows],
            slope[rows],
            error[rows],
            seen.analytical[rows] / seen.grad_output,
            measured.precision,
            torch.finfo(seen.section.dtype).eps,
        )
        differs[rows] = closer.confirmed
        doubted = rows[~closer.confirmed]
        slope[doubted], error[doubted] = closer.value[~closer.confirmed], closer.error[~closer.confirmed]
        off = np.abs(seen.analytical - seen.grad_output * slope)[doubted]
        exact = scale * error[doubted] <= _VAGUE * (np.abs(seen.analytical[doubted]) + seen.allowed[doubted])
        agrees[doubted] = exact & (off <= seen.allowed[doubted] + _BOUNDS * scale * error[doubted])
        doubtful[doubted] = True
    lost = seen.drawn & _beyond_the_horizon(seen.x, doubtful & seen.drawn)
    slope[lost & ~agrees], error[lost & ~agrees] = np.nan, np.inf
    return RangeJudgement(agrees, differs & ~lost & (np.abs(seen.x) >= _LEAST), slope, error)


def _beyond_the_horizon(x: Array, doubtful: Mask) -> Mask:
    """Whether some consecutive doubtful points lie closer to 0: forward oscillates faster than the steps from there."""
    beyond = np.zeros_like(doubtful)
    for rows in indices_outwards(x):
        rows = rows[np.abs(x[rows]) >= _OUTWARDS]
        count = np.convolve(doubtful[rows], np.ones(_ROW), "valid") if rows.size >= _ROW else np.zeros(0)
        ends = np.flatnonzero(count > _ROW - 0.5)
        if ends.size:
            beyond[rows[ends[0] :]] = True
    return beyond


def missing_gradients(seen: RangeMeasurements) -> Mask:
    """Where the gradient is NaN or infinite although forward has a slope, if that begins at ordinary magnitudes."""
    info = torch.finfo(seen.section.dtype)
    measured, size = seen.measured, np.abs(seen.x)
    known = np.isfinite(measured.error) & (measured.error <= _VAGUE * np.abs(measured.slope) + seen.scale)
    # In a short dtype overflow to infinity is no error.
    wrong = np.isnan(seen.analytical) | (np.isinf(seen.analytical) & (info.max > 1 / _LEAST))
    expected = seen.grad_output * measured.slope
    overflows = (np.abs(expected) > info.max) & (seen.analytical == np.copysign(np.inf, expected))
    wrong &= seen.drawn & known & ~overflows
    rows = np.flatnonzero(wrong)
    if rows.size:
        forward, slope = forward_within(seen.reference, seen.reach), measured.slope[rows]
        closer = confirm_on_all_scales(
            forward, seen.x[rows], slope, measured.error[rows], slope, measured.precision, info.eps
        )
        wrong[rows] = np.isfinite(closer.value)
    far = min(info.max**_QUARTER, _FAR)
    for rows in indices_outwards(seen.x):
        ordinary = (size[rows] >= 1 / far) & (size[rows] <= far)
        if not (wrong[rows] & ordinary).any():
            wrong[rows] = False
    return wrong


def repeats_alone(seen: RangeMeasurements, differs: Mask) -> bool:
    """Whether some of the differing points give the same results when evaluated one by one."""
    rows = np.flatnonzero(differs)
    for row in rows[np.linspace(0, rows.size - 1, min(_WITNESSES, rows.size)).astype(np.intp)]:
        alone = seen.section.backward(seen.x[[row]], seen.grad_output)
        found = [alone.values, alone.grad_input if alone.grad_input is not None else np.zeros(1)]
        found.append(seen.reference.forward(seen.x[[row]]))
        wanted = [seen.values[row], seen.analytical[row], seen.measured.y[row]]
        if not all(np.allclose(a, b, rtol=_SAME, atol=0.0, equal_nan=True) for a, b in zip(found, wanted, strict=True)):
            return False
    return True
