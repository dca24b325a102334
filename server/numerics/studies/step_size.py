"""The study of step sizes at one x: truncation and rounding error of finite differences, and the Taylor test."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ...runtime.arrays import EPSILON, Array, Forward, finite_rise
from ..differentiation import finite_differences as ladder
from ..differentiation.finite_differences import Ladder, PointKind, Slopes
from ..differentiation.noise import moving_maximum, noise_along, noise_probes

# sample: the number of steps over which a law is fitted, and of the smallest, at which only rounding error is left;
# bound: the least ratio of error to noise.
_STEPS, _MIN_SIGNAL = 8, 30.0
# pattern: the largest deviation from the line (in natural logarithms), and the least order.
_MAX_DEVIATION, _MIN_ORDER = 0.15, 0.5
_Kind = Literal["smooth", "kink", "cusp", "jump", "pole", "edge", "unresolved", "no value"]
# sample: each fourth step is an eighth, as in the finer ladder: 65 of them lead from 0.3 of the range to 1e-15 of it.
_WIDEST, _EVERY, _COUNT = 0.3, 4, 65
_STEP_SHARES = ladder.FINE_RATIO ** (-np.arange(_COUNT) / _EVERY)
_KINDS: tuple[_Kind, ...] = ("smooth", "kink", "jump", "edge", "unresolved", "no value")  # in the order of PointKind


@dataclass(frozen=True)
class PowerLaw:
    """``coefficient · step ** order``."""

    order: float
    coefficient: float

    def at(self, steps: Array) -> Array:
        """The error that the law predicts for these ``steps``."""
        return self.coefficient * steps**self.order


def fit_power_law(steps: Array, error: Array, noise: Array) -> PowerLaw | None:
    """The power law of ``error`` at the smallest ``steps`` (widest first) where it is clearly above ``noise``.

    None where too few consecutive steps are, or where they do not lie on a line.
    """
    signal = (error > _MIN_SIGNAL * noise).astype(int)
    runs = np.flatnonzero(np.convolve(signal, np.ones(_STEPS, int), "valid") == _STEPS)
    if not runs.size:
        return None
    rows = slice(int(runs[-1]), int(runs[-1]) + _STEPS)
    log_step, log_error = np.log(steps[rows]), np.log(error[rows])
    height, order = np.polynomial.polynomial.polyfit(log_step, log_error, 1).tolist()
    straight = float(np.abs(height + order * log_step - log_error).max()) <= _MAX_DEVIATION
    return PowerLaw(order, math.exp(height)) if straight and order > _MIN_ORDER else None


@dataclass(frozen=True)
class BoundedSlope:
    """A slope and the bound of its error: NaN and infinite where there is none."""

    value: float
    error: float


_NO_SLOPE = BoundedSlope(math.nan, math.inf)


@dataclass(frozen=True)
class StepErrors:
    """What differences are off by, step by step, the widest first; never less than what they are held against.

    ``central`` is held against the ladder's slope, ``left`` and ``right`` against that or the slope of their side; NaN
    where that is none. ``rounding`` is ε·|forward|/step, or what is seen where that is more; ``truncation`` follows the
    power law of the central differences, NaN where none is seen. ``taylor`` is the larger of
    |f(x ± h) − f(x) ∓ h·derivative|, never less than the rounding in it.
    """

    step: Array
    central: Array
    left: Array
    right: Array
    truncation: Array
    rounding: Array
    taylor: Array


@dataclass(frozen=True)
class LeastError:
    """The step at which the central difference errs least, and by how much."""

    step: float
    error: float


@dataclass(frozen=True)
class StepSizeStudy:
    """What differences say of the slope ``at`` one x; no slope is multiplied by grad_output.

    ``best`` is the ladder's slope, from the steps ``chosen``; ``left`` and ``right`` are the one-sided slopes.
    ``analytical`` is what backward returned. The truncation error of central differences falls with the power
    ``central_order`` of the step, Taylor's remainder with ``taylor_order``: 2 where backward is right and 1 where it is
    wrong. None where nothing but rounding is left, and the latter where forward is not smooth.
    """

    at: float
    kind: _Kind
    best: BoundedSlope
    left: BoundedSlope
    right: BoundedSlope
    analytical: float | None
    chosen: tuple[float, ...]
    errors: StepErrors
    least: LeastError | None
    central_order: float | None
    taylor_order: float | None


@np.errstate(all="ignore")  # what has no value is NaN in the picture
def study_step_size(
    forward: Forward,
    x: float,
    span: float,
    derivative: float | None,
    precision: float,
    step: float | None,
) -> StepSizeStudy:
    """The differences of ``forward`` at ``x``, in a picture ``span`` wide.

    ``derivative`` is what backward returned there for grad_output 1, ``precision`` half a unit in the last place
    of what forward computes in, ``step`` the widest step of the ladder, chosen if None. Some 230 forwards in
    four calls; ``forward`` is asked up to half a ``span`` away and is to say NaN where it has no value.
    Source: M. T. Heath, Scientific Computing, ch. 1, for the V; the remainder is the Taylor test.
    """
    steps = _WIDEST * span * _STEP_SHARES
    points = np.stack((x + steps, x - steps))
    values = forward(np.append(points.ravel(), x))
    y, (above, below) = float(values[-1]), values[:-1].reshape(points.shape)
    # The steps that were really taken, which are none where x is too large for them.
    runs = np.abs(points - x)
    runs[runs == 0] = np.nan
    height = np.fmax(np.fmax(np.abs(above), np.abs(below)), abs(y))
    slopes = _slopes_at(forward, x, y, span, finite_rise(values), step, precision)
    kind = _point_kind(slopes, y, noisy=any(_turns_back(side, precision * height[-1]) for side in (above, below)))
    best, left, right = _bounded_slopes(slopes, kind)
    off = np.abs((above - below) / (runs[0] + runs[1]) - best.value)
    rounding = np.fmax(precision * height, _floor(off * steps)) / steps
    law = fit_power_law(steps, off, np.fmax(rounding, best.error))
    remains = np.full(_COUNT, np.nan)
    if derivative is not None and math.isfinite(y):
        remains = np.fmax(np.abs(above - y - runs[0] * derivative), np.abs(y - below - runs[1] * derivative))
    noise = 2 * precision * (height + np.abs(steps * (derivative or 0.0)))
    fall = fit_power_law(steps, remains, np.fmax(noise, _floor(remains))) if kind == "smooth" else None
    errors = StepErrors(
        step=steps,
        central=_not_below(off, best.error),
        left=_not_below(np.abs((y - below) / runs[1] - left.value), left.error),
        right=_not_below(np.abs((above - y) / runs[0] - right.value), right.error),
        truncation=law.at(steps) if law else np.full(_COUNT, np.nan),
        rounding=rounding,
        taylor=np.maximum(remains, noise),
    )
    orders = law.order if law else None, fall.order if fall else None
    least = _smallest_error(steps, errors.central, rounding)
    return StepSizeStudy(x, kind, best, left, right, derivative, _ladder_steps(slopes), errors, least, *orders)


def _slopes_at(
    forward: Forward, x: float, y: float, span: float, rise: float, step: float | None, precision: float
) -> Slopes:
    """The slopes of forward at ``x`` alone, where it has the value ``y``; it has this ``rise`` in sight.

    Measured twice, as the verdict does where it doubts: where the two ladders contradict, the finer has the word.
    """
    at, value, visible = np.array([x]), np.array([y]), np.array([rise / span])
    noise = noise_along(forward(noise_probes(at, span, precision)), at, rise, precision)
    widest = step or ladder.widest_step(span, precision)
    slopes = Ladder.around(forward, at, widest, noise, precision, value).slopes(lambda _: forward, lambda _: visible)
    if slopes.kind[0] != PointKind.SMOOTH:
        return slopes
    last_places = replace(slopes, noise=2 * precision * np.abs(value))
    again = ladder.remeasure(forward, at, value, last_places, np.array([0]), visible)
    return slopes if again.value[0] == slopes.value[0] else again


def _point_kind(slopes: Slopes, y: float, noisy: bool) -> _Kind:
    """What forward is like at the point: as its slopes say, but for values without bound, and for noise."""
    kind = _KINDS[slopes.kind[0]]
    if math.isinf(y):
        return "pole"
    if kind in ("kink", "jump") and noisy:
        return "unresolved"
    return "cusp" if kind == "kink" and np.isinf((slopes.left, slopes.right)).any() else kind


def _turns_back(values: Array, rounding: float) -> bool:
    """Whether the values go up and down again as the point is approached: at a kink or a jump they do not."""
    steps = np.diff(values[-2 * _STEPS :])
    return bool((steps > _MIN_SIGNAL * rounding).any() and (steps < -_MIN_SIGNAL * rounding).any())


def _bounded_slopes(slopes: Slopes, kind: _Kind) -> tuple[BoundedSlope, BoundedSlope, BoundedSlope]:
    """The slope, and those of the left and of the right, each with its bound; a vertical one has none."""

    def slope(value: Array, error: Array, vertical: bool) -> BoundedSlope:
        if np.isinf(value[0]) and vertical:
            return BoundedSlope(float(value[0]), math.inf)
        return BoundedSlope(float(value[0]), float(error[0])) if np.isfinite(value + error)[0] else _NO_SLOPE

    if kind in ("pole", "no value"):
        return _NO_SLOPE, _NO_SLOPE, _NO_SLOPE
    best = slope(slopes.value, slopes.error, False) if kind in ("smooth", "edge", "unresolved") else _NO_SLOPE
    if kind == "smooth":
        return best, best, best
    sides = (slopes.left, slopes.left_error), (slopes.right, slopes.right_error)
    left, right = (slope(*each, kind != "unresolved") for each in sides)
    return best, left, right


def _ladder_steps(slopes: Slopes) -> tuple[float, ...]:
    """The steps of the ladders that the slope comes from, widest first."""
    steps = slopes.step * ladder.LADDER.ravel()
    # A point that the first ladder settles has one slope, the same on both sides.
    if slopes.kind[0] != PointKind.SMOOTH or not slopes.left[0] == slopes.value[0] == slopes.right[0]:
        ratio = ladder.FINE_RATIO if slopes.precision == EPSILON else ladder.FINE_RATIO_LOW_PRECISION
        finer = ladder.FINE_WIDEST_STEP * slopes.step * ratio ** -np.arange(ladder.FINE_LEVELS)
        steps = np.concatenate((steps, finer))
    return tuple(sorted(steps.tolist(), reverse=True))


def _floor(values: Array) -> float:
    """What the smallest steps show."""
    finite = values[np.isfinite(values)]
    return float(np.median(finite[-_STEPS:])) if finite.size else 0.0


def _smallest_error(steps: Array, error: Array, rounding: Array) -> LeastError | None:
    """The step of the least error and that error, passing over differences that are right by accident."""
    finite = np.isfinite(error)
    if not finite.any():
        return None
    likely = np.fmax(moving_maximum(np.where(finite, error, 0.0), 1), rounding)
    row = int(np.where(finite, likely, np.inf).argmin())
    return LeastError(float(steps[row]), float(error[row]))


def _not_below(error: Array, bound: float) -> Array:
    return np.maximum(error, bound if math.isfinite(bound) else math.nan)
