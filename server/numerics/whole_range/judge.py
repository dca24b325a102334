"""The judge of the whole range: where backward contradicts forward beyond doubt, over many orders of magnitude."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial

import numpy as np
import torch
from numpy.typing import NDArray

from ...runtime.arrays import EPSILON, Array, Forward, Mask, evenly_chosen, finite_numbers, median, unit_shares
from ...runtime.call_cost import estimated_seconds
from ...runtime.domain_reach import DomainReach, backward_everywhere, find_reach, full_reach
from ...runtime.failure import FunctionFailed
from ...runtime.reference import lost_to_double
from ...runtime.remembered import remembered
from ...runtime.section import BackwardResult, Section
from ...runtime.vjp import float64_array
from ..differentiation.confirmation import Closeness, Dispute, confirmed
from ..differentiation.fine_structure import contradicted
from ..differentiation.finite_differences import EVIDENCE_BOUNDS, WIDEST_STEP
from ..differentiation.noise import moving_maximum
from ..sampling.grid import FEW_POINTS
from ..tolerance import FEW_ULPS, REMARK_SHARE, SIMILAR, SMALL, Leeway, relative_tolerance
from .relative_steps import (
    RelativeStepSlopes,
    forward_within,
    indices_outwards,
    largest_further_in,
    log_grid_points,
    relative_step_slopes,
)

# budget: the points where each costs a call of its own: few if a call takes these seconds, else the most.
_MAX_ALONE, _SECONDS = 36, 2e-3
# bound: the tolerance, relative to slopes here and around, by bytes of the dtype; else ulps. Only gross errors count.
_TOLERANCE, _ULPS = {8: 1e-6, 4: 1e-3}, 16.0
# bound: closer to 0 than this, cancellation makes forward and backward unreliable; in float64, and as the root of the
# precision in another.
_MIN_X = 1e-8
# pattern: with this relative error at so many consecutive points, at this |x| or beyond, forward oscillates faster than
# the steps of the differences, and nothing farther out is judged.
_OSCILLATING, _IN_A_ROW, _MIN_OSCILLATING = 0.02, 3, 0.1
# bound: a NaN or infinite gradient is an error only if it occurs at an ordinary magnitude: up to this power of the
# largest number, and this limit. Farther out, squares overflow in correct Functions too.
_ORDINARY_POWER, _MAX_ORDINARY = 0.25, 1e6
# bound: values that differ little from those in double precision, or by some last places, allow for a gradient that is
# off by a multiple of it over |x|.
_DEVIATION = 4.0
# budget: so many of the differing points are evaluated again one by one; and the relative tolerance of that.
_REPEATED, _REPEAT_RTOL = 4, 1e-2
# sample: the number of steps, from this fraction of |x|, or from this width where x is small, down to some last places.
_STEP_COUNT, _WIDEST, _MIN_WIDEST, _FINEST_ULPS = 22, 0.1, 1e-3, 16.0
_MIN_SPAN = 30.0  # pattern: every scale is seen if the widest step is at least this many times the finest
# bound: a step is sharp if it can separate the two disputed slopes: its error is at most this share of their distance.
_SHARPNESS = 0.3
_MIN_SUPPORT = 4  # bound: at least this many sharp steps must support the measured slope, and all of the finer ones
_FINEST_STEPS = 3  # pattern: so many of the finest sharp steps see a straight line
_CLOSELY = 0.1  # sample: closely means up to a step of this share of |x|, or of the numbers in sight
_X_ULPS = 4.0  # ulps: the error of x, in units of the dtype, that a gradient may suffer from
# bound: rounding is so many times larger in float32, of numbers whose squares it holds.
_MORE_IN_FLOAT32, _MAX_IN_FLOAT32 = 1e3, 1e18
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class RangeMeasurements:
    """One section at points ``x`` within ``reach``: analytical gradient, measured slopes, how far they may be apart.

    There are no points where it has no gradient. ``rounding`` is how far forward's rounding may put the two apart,
    ``scale`` the size of the gradients in sight; at ``unlike`` points the dtype has other values than double precision.
    Near 0 forward may add numbers up to ``seen`` to x before it rounds.
    """

    section: Section
    reference: Section
    grad_output: float
    reach: DomainReach
    x: Array
    values: Array
    analytical: Array
    measured: RelativeStepSlopes
    rounding: Array
    scale: Array
    unlike: Mask
    seen: float = 1.0

    @cached_property
    def allowed(self) -> Array:
        """The difference up to which nothing is accused."""
        info = torch.finfo(self.section.dtype)
        share = _TOLERANCE.get(self.section.dtype.itemsize, _ULPS * info.eps)
        size = np.abs(self.grad_output * self.measured.slope) + self.scale
        return share * np.maximum(size, info.tiny) + _TINY + self.rounding

    def leeway(self, slope: Array, error: Array) -> Leeway:
        """What is allowed of what agrees with these slopes, which are known to within this error."""
        share, size = max(relative_tolerance(self.section.dtype), REMARK_SHARE), abs(self.grad_output)
        expected = np.maximum(size * np.abs(slope) + self.scale, torch.finfo(self.section.dtype).tiny)
        margin = share * expected + _TINY
        return Leeway(margin, EVIDENCE_BOUNDS * size * error + self.rounding)

    @cached_property
    def finite(self) -> Mask:
        """Whether forward is finite, so that the point can be judged."""
        return np.isfinite(self.values) & np.isfinite(self.measured.y)


@dataclass(frozen=True)
class RangeJudgement:
    """Where backward agrees, where it differs, and the slope of forward that this is based on, NaN where unknown."""

    agrees: Mask
    differs: Mask
    slope: Array
    error: Array


def _points(section: Section, grad_output: float, reach: DomainReach) -> Array:
    """The points of a section within ``reach``; fewer where each costs a call, and few where that takes long."""
    at_most = partial(_points_within, section.dtype, reach)
    if section.stacked:
        return at_most(None)
    x = at_most(_MAX_ALONE)
    near_zero = x[x.size // 2 :][:1]
    slow = x.size and estimated_seconds(partial(section.backward, near_zero, grad_output)) >= _SECONDS
    return at_most(FEW_POINTS) if slow else x


@lru_cache(maxsize=8)
def _points_within(dtype: torch.dtype, reach: DomainReach, most: int | None) -> Array:
    return np.unique(float64_array(torch.from_numpy(log_grid_points(dtype, reach, most)).to(dtype)))


@remembered(lambda found: "slow" not in found.reach.ends)
def range_gradients(section: Section, reference: Section, grad_output: float) -> RangeMeasurements:
    """The gradients of a section as far as it can be called. Raises ``FunctionFailed``.

    They do not depend on the grid, and are remembered, unless the cost of a call has limited them.
    """
    reach, none = full_reach(section.dtype), np.empty(0)
    x = _points(section, grad_output, reach) if section.stacked else none
    returned = backward_everywhere(section, reference, grad_output, x)
    if returned is None:
        reach = find_reach(section, reference, grad_output)
        x = _points(section, grad_output, reach)
        returned = section.backward(x, grad_output) if x.size else BackwardResult(x)
    at, alike = (section, reference, grad_output, reach), np.zeros(x.size, bool)
    if returned.grad_input is None:
        unknown = RelativeStepSlopes(none, none, none, none, EPSILON)
        return RangeMeasurements(*at, none, none, none, unknown, none, none, alike)
    measured, zero = relative_step_slopes(reference, reach, x), np.zeros(x.size)
    return RangeMeasurements(*at, x, returned.values, returned.grad_input, measured, zero, zero, alike)


def with_bounds(found: RangeMeasurements, largest_gradient: float, seen: float) -> RangeMeasurements:
    """The same, with what may be off there; the ``largest_gradient`` is that of the visible range."""
    section, x, measured, grad_output = found.section, found.x, found.measured, found.grad_output
    size, eps = np.abs(x), torch.finfo(section.dtype).eps
    expected = np.abs(grad_output * measured.slope)
    certain = np.where(measured.error <= SMALL * np.abs(measured.slope), expected, 0.0)
    ordinary = expected[(size > 0.1) & (size < 10.0) & np.isfinite(expected)]
    usual = float(median(ordinary)) if ordinary.size else 0.0
    scale = np.maximum(largest_further_in(x, certain), max(largest_gradient, usual))
    deviation = np.abs(found.values - measured.y) / np.abs(measured.y)
    deviation[~np.isfinite(deviation)] = 0.0
    height = finite_numbers(np.abs(measured.y), infinity=0.0)
    deviation = moving_maximum(deviation, 2)
    rounding = abs(grad_output) * np.maximum(_DEVIATION * deviation, FEW_ULPS * eps) * height / size
    # A forward that rounds on its way is off by more than its last places, and the slope with it.
    if (rounds := deviation > FEW_ULPS * eps).any():
        lost = lost_to_double(section, found.reference, x, grad_output, found.analytical)
        rounding = np.maximum(rounding, np.where(rounds, lost, 0.0))
    sizes = finite_numbers(np.abs(found.values) + np.abs(measured.y), infinity=0.0)
    unlike = np.abs(found.values - measured.y) > SMALL * largest_further_in(x, sizes)
    return replace(found, rounding=rounding, scale=scale, unlike=unlike, seen=seen)


def judge_range(data: RangeMeasurements, excused: Mask | None = None) -> RangeJudgement:
    """Compare backward with the measured slopes. It differs where it contradicts forward on every scale.

    Where it is ``excused`` it is not asked on every scale.
    """
    measured, scale, allowed = data.measured, abs(data.grad_output), data.allowed
    expected, band = data.grad_output * measured.slope, EVIDENCE_BOUNDS * scale * measured.error
    off = np.abs(data.analytical - expected)
    # A constant has no slope that the error band could be compared with, but it has a height.
    sight = data.scale + scale * np.abs(measured.y) / np.abs(data.x)
    leeway = data.leeway(measured.slope, measured.error)
    vague = leeway.vague(data.analytical, np.abs(expected) + sight, 0.0)
    agrees = data.finite & (off <= leeway.total) & ~vague
    least = torch.finfo(data.section.dtype).tiny
    alike = np.abs(data.values - measured.y) <= SMALL * (np.abs(data.values) + np.abs(measured.y)) + least
    suspect = data.finite & alike & np.isfinite(data.analytical) & (off > allowed + band)
    suspect &= True if excused is None else ~excused
    doubtful = (measured.error > _OSCILLATING * np.abs(measured.slope) + 30 * measured.noise) & (band > allowed)
    doubtful |= data.unlike
    slope, error = measured.slope.copy(), measured.error.copy()
    differs = np.zeros_like(suspect)
    rows = np.flatnonzero(suspect)
    if rows.size and scale:
        scales = confirm_on_all_scales(
            forward_within(data.reference, data.reach),
            data.x[rows],
            slope[rows],
            error[rows],
            data.analytical[rows] / data.grad_output,
            measured.precision,
            torch.finfo(data.section.dtype).eps,
            data.scale[rows] / scale,
        )
        holds = scales.confirmed & _confirmed_closely(data, rows, off[rows])
        differs[rows] = holds
        rejected = rows[~holds]
        slope[rejected], error[rejected] = scales.value[~holds], scales.error[~holds]
        leeway, off = data.leeway(slope, error), np.abs(data.analytical - data.grad_output * slope)
        exact = scale * error <= SMALL * (np.abs(data.analytical) + allowed)
        agrees[rejected] = (exact & (off <= leeway.total))[rejected]
        doubtful[rejected] = True
    lost = data.finite & _beyond_the_horizon(data.x, doubtful, data.finite & (doubtful | agrees | differs))
    if not (rows.size or lost.any()):
        return RangeJudgement(agrees, differs, slope, error)
    slope[lost & ~agrees], error[lost & ~agrees] = np.nan, np.inf
    near_zero = np.abs(data.x) < _MIN_X * np.sqrt(measured.precision / EPSILON)
    return RangeJudgement(agrees, differs & ~lost & ~near_zero, slope, error)


def _confirmed_closely(data: RangeMeasurements, rows: NDArray[np.intp], off: Array) -> Mask:
    """Which of these rows, where backward is ``off``, differ at the smallest scale on which forward is straight."""
    grad_output, forward = data.grad_output, forward_within(data.reference, data.reach)
    x, eps = data.x[rows], torch.finfo(data.section.dtype).eps
    size = np.maximum(np.abs(x), data.seen)
    closeness = Closeness(forward, _CLOSELY * size, data.measured.precision, eps, np.abs(data.measured.y[rows]), size)
    dispute = Dispute(x, data.analytical[rows] / grad_output, off / abs(grad_output))
    answer = confirmed(closeness, dispute)
    answer = replace(answer, contradicts=answer.contradicts | ((np.abs(x) == size) & ~answer.follows))
    return contradicted(closeness, data.section, grad_output, dispute, answer)


def _beyond_the_horizon(x: Array, doubtful: Mask, judged: Mask) -> Mask:
    """Whether some doubtful points lie closer to 0: forward moves faster than the steps, or than a dtype can tell.

    Those are consecutive among the ``judged`` ones: one that neither agrees nor differs takes no doubt away.
    """
    beyond = np.zeros_like(doubtful)
    if np.count_nonzero(doubtful & judged) < _IN_A_ROW:
        return beyond
    for outwards in indices_outwards(x):
        rows = outwards[(np.abs(x[outwards]) >= _MIN_OSCILLATING) & judged[outwards]]
        count = np.convolve(doubtful[rows], np.ones(_IN_A_ROW), "valid") if rows.size >= _IN_A_ROW else np.zeros(0)
        ends = np.flatnonzero(count > _IN_A_ROW - 0.5)
        if ends.size:
            beyond[outwards] = np.abs(x[outwards]) >= np.abs(x[rows[ends[0]]])
    return beyond


def missing_gradients(data: RangeMeasurements) -> Mask:
    """Where the gradient is NaN or infinite although forward has a slope, if that begins at ordinary magnitudes."""
    if np.isfinite(data.analytical).all():
        return np.zeros(data.x.size, bool)
    info = torch.finfo(data.section.dtype)
    slopes, size = data.measured, np.abs(data.x)
    known = np.isfinite(slopes.error) & (slopes.error <= SMALL * np.abs(slopes.slope) + data.scale)
    # In a short dtype overflow to infinity is no error.
    wrong = np.isnan(data.analytical) | (np.isinf(data.analytical) & (info.max > 1 / _MIN_X))
    expected = data.grad_output * slopes.slope
    overflows = (np.abs(expected) > info.max) & (data.analytical == np.copysign(np.inf, expected))
    wrong &= data.finite & known & ~overflows
    rows = np.flatnonzero(wrong)
    if rows.size:
        forward, slope = forward_within(data.reference, data.reach), slopes.slope[rows]
        scales = confirm_on_all_scales(
            forward, data.x[rows], slope, slopes.error[rows], slope, slopes.precision, info.eps
        )
        wrong[rows] = np.isfinite(scales.value)
    limit = min(info.max**_ORDINARY_POWER, _MAX_ORDINARY)
    for rows in indices_outwards(data.x):
        ordinary = (size[rows] >= 1 / limit) & (size[rows] <= limit)
        if not (wrong[rows] & ordinary).any():
            wrong[rows] = False
    return wrong


def repeats_alone(data: RangeMeasurements, differs: Mask) -> bool:
    """Whether some of the differing points give the same results when evaluated one by one."""
    rows = np.flatnonzero(differs)
    for row in evenly_chosen(rows, _REPEATED):
        alone = data.section.backward(data.x[[row]], data.grad_output)
        returned = np.zeros(1) if alone.grad_input is None else alone.grad_input
        again = alone.values, returned, data.reference.forward(data.x[[row]])
        before = data.values[row], data.analytical[row], data.measured.y[row]
        if not np.allclose(np.ravel(again), before, _REPEAT_RTOL, 0.0, equal_nan=True):
            return False
    return True


def is_rounding(data: RangeMeasurements, differs: Mask, slope: Array) -> bool:
    """Whether what backward returns in double precision differs by its own rounding: in float32 by far more.

    That is asked where it begins, on either side of 0. A wrong formula is off by as much in any dtype.
    """
    rows = np.flatnonzero(differs & (np.abs(data.x) < _MAX_IN_FLOAT32))
    sides = [rows[data.x[rows] < 0][-1:], rows[data.x[rows] > 0][:1]]
    rows = np.concatenate(sides)
    if data.section.dtype != torch.float64 or not rows.size:
        return False
    try:
        returned = data.section.at(torch.float32, data.section.device).gradient(data.x[rows], data.grad_output)
    except FunctionFailed:
        return False
    expected = data.grad_output * slope[rows]
    less = np.abs(returned - expected) < _MORE_IN_FLOAT32 * np.abs(data.analytical[rows] - expected)
    return bool(np.isfinite(data.analytical[rows]).all() and not less.any())


@dataclass(frozen=True)
class ScaleConfirmation:
    """Whether the measured slope is ``confirmed`` on every scale; the slope at the straightest one, with its error."""

    confirmed: NDArray[np.bool_]
    value: Array
    error: Array


@np.errstate(all="ignore")
def confirm_on_all_scales(
    forward: Forward,
    x: Array,
    slope: Array,
    error: Array,
    disputed: Array,
    precision: float,
    eps: float,
    sight: Array | float = 0.0,
) -> ScaleConfirmation:
    """Whether ``slope``, measured at each ``x`` (1-D) to within ``error``, is confirmed against the ``disputed`` one.

    45 forwards per point. ``precision`` is half a unit in the last place of the precision that forward computes in,
    ``eps`` the machine epsilon of the judged gradient's dtype, which limits how well it knows ``x``, and ``sight`` the
    size of the slopes in sight. With an infinite ``disputed`` slope every step that sees a finite one counts.
    """
    widest = np.maximum(_WIDEST * np.abs(x), _MIN_WIDEST)
    finest = np.maximum(_FINEST_ULPS * 2 * precision * np.abs(x), _FINEST_ULPS * _TINY)
    steps = widest * (finest / widest) ** unit_shares(_STEP_COUNT - 1)
    points = np.stack((x + steps, x - steps))
    values = forward(np.concatenate((x, points.ravel())))
    y, (above, below) = values[: x.size], values[x.size :].reshape(points.shape)
    right, left = (above - y) / (points[0] - x), (y - below) / (x - points[1])
    run = points[0] - points[1]
    central = (above - below) / run
    size = np.maximum(np.maximum(np.abs(above), np.abs(below)), np.abs(y))
    noise = np.where(size > 0, EVIDENCE_BOUNDS * 2 * (2 * precision * size + _TINY) / run, 0.0)
    bend = np.abs(right - left)
    if precision > EPSILON:  # x is rounded too, and what is as large as it and cancels
        noise += 4 * precision * np.abs(x) * np.fmax(np.fmax(np.abs(slope), np.abs(disputed)), sight) / run

    dispute = np.abs(disputed - slope)
    sharp = bend + noise <= _SHARPNESS * dispute
    near = np.abs(central - slope) <= SIMILAR * dispute
    finest = sharp & (np.cumsum(sharp[::-1], axis=0)[::-1] <= _FINEST_STEPS)
    straight = bend <= SMALL * (np.abs(right) + np.abs(left)) + noise
    allowed = SMALL * (np.abs(central) + np.abs(slope)) + noise + EVIDENCE_BOUNDS * error
    # Wide steps may see neither slope; but not near 0, where cancellation makes the finer ones unreliable.
    wide = (steps > WIDEST_STEP * np.abs(x)) & (np.abs(x) > _MIN_WIDEST)
    other = (np.abs(central - disputed) > SIMILAR * dispute) & wide
    confirmed = ((sharp & near).sum(axis=0) >= _MIN_SUPPORT) & (near | other | ~sharp).all(axis=0)
    confirmed &= ((straight & (np.abs(central - slope) <= allowed)) | ~finest).all(axis=0)
    confirmed &= (steps[0] >= _MIN_SPAN * steps[-1]) & (sharp & near & (steps >= _X_ULPS * eps * np.abs(x))).any(axis=0)
    turn = np.fmax.reduce((bend - noise) / steps, axis=0)
    confirmed &= dispute > _X_ULPS * eps * np.abs(x) * turn

    uncertainty = np.where(straight & np.isfinite(central), bend + noise, np.inf)
    straightest = uncertainty.argmin(axis=0), np.arange(x.size)
    known = np.isfinite(uncertainty[straightest])
    return ScaleConfirmation(confirmed, np.where(known, central[straightest], np.nan), uncertainty[straightest])
