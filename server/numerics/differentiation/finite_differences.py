"""The numerical derivative: central differences at several steps, extrapolated, one-sided ones where needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import EPSILON, Array, Forward, Mask, at_rows, consecutive_differences, finite_rise, median
from .noise import moving_maximum, noise_along, noise_probes
from .richardson import extrapolate, tableau

LEVELS, RATIO = 4, 3.0  # budget: steps on either side, so eight forwards a point; each a third (a sample) of the last
LADDER: Array = RATIO ** -np.arange(float(LEVELS))[:, None]
# sample: the widest step, as a fraction of the visible range: wide enough to average rounding away, narrow enough
# for four Richardson columns to converge on whatever can be seen at that range.
WIDEST_STEP = 2e-3
WIDEST_LOW_PRECISION = 0.05  # sample: the same in a short precision, where there is more rounding to average away
# budget: steps on either side, so 14 forwards a point; then (samples) their ratio, and that in a short precision.
FINE_LEVELS, FINE_RATIO, FINE_RATIO_LOW_PRECISION = 7, 8.0, 2.0
FINE_WIDEST_STEP = 0.2  # sample: where the finer ladder begins, as a fraction of the widest step of the first
LEAST_ROUNDING = 2.0**-1074  # unit: the spacing of float64 next to 0
# sample: where points are closer than this fraction of the usual, steps shrink in proportion, down to the least factor.
_DENSE_SPACING, _MIN_STEP_FACTOR = 0.4, 1 / 256  # Points are closer where forward is curved.
_NOISE_FACTOR = 32.0  # ulps: a change smaller than this many rounding errors counts as zero
# bound: a deviation counts as evidence only beyond this many error bounds: one alone may fail at 3 % of the points.
EVIDENCE_BOUNDS = 10.0
_RECHECK_RTOL = 1e-13  # bound: the share of a slope that contradicts nothing, on top of those error bounds
_OTHER_WIDEST = 0.6  # sample: other steps, in between those of the first ladder


# The least slope that counts at each of n points, or at all of them, told from their slopes.
VisibleSlope = Callable[[Array], Array | float]


class PointKind:
    """Local behaviour of forward at a point, judged from its differences: numbers, as those of ``Status``."""

    SMOOTH, KINK, JUMP, EDGE, UNRESOLVED, NONFINITE = range(6)


@dataclass(frozen=True)
class Slopes:
    """Numerical slopes of a forward at n points.

    ``error`` bounds the error of ``value``; ``left`` and ``right`` are the one-sided slopes, equal to ``value`` where
    the point is smooth, with bounds of their own; ``curvature`` is at least how fast the slope changes at a smooth
    point; ``noise`` bounds the rounding error of forward. ``forwards`` is the mean number of forward values used per
    point.
    """

    value: Array
    error: Array
    left: Array
    right: Array
    left_error: Array
    right_error: Array
    kind: NDArray[np.int8]
    curvature: Array
    noise: Array
    forwards: float
    step: float
    precision: float

    def doubted_by(self, expected: Array) -> NDArray[np.intp]:
        """The smooth points where something else was ``expected``, which are to be measured again."""
        off = np.abs(expected - self.value)
        contradicted = ~(off <= EVIDENCE_BOUNDS * self.error + _RECHECK_RTOL * np.abs(self.value))
        return np.flatnonzero((self.kind == PointKind.SMOOTH) & contradicted)

    at = at_rows

    def with_rows(self, rows: Mask | NDArray[np.intp], others: Slopes) -> Slopes:
        """The same with those of other slopes at some of the points, of which there are as many."""
        arrays: dict[str, Any] = {
            name: each.copy() for name, each in vars(self).items() if isinstance(each, np.ndarray)
        }
        for name, each in arrays.items():
            each[rows] = getattr(others, name)
        return replace(self, **arrays)

    def known_to(self, least: Array) -> Slopes:
        """The same with error bounds that are as large as the ``least`` of each point."""
        error, left, right = (np.maximum(each, least) for each in (self.error, self.left_error, self.right_error))
        return replace(self, error=error, left_error=left, right_error=right)

    @property
    def error_by_kind(self) -> Array:
        """``error``, but at kinks the larger of the bounds of the two one-sided slopes."""
        return np.where(self.kind == PointKind.KINK, np.maximum(self.left_error, self.right_error), self.error)


@dataclass(frozen=True)
class Ladder:
    """Forward on both sides of n points ``x``, where it has the values ``y``, at the four steps of ``LADDER``, or some.

    ``above``, ``below`` and ``gaps``, the distances between the two, are (levels × n), ``steps`` (levels × n or 1).
    ``noise`` bounds the rounding error of forward at every point as far as it was measured, ``precision`` is half a
    unit in the last place of what forward computes in.
    """

    x: Array
    y: Array
    above: Array
    below: Array
    steps: Array
    gaps: Array
    noise: Array | float
    precision: float

    @classmethod
    def around(
        cls,
        forward: Forward,
        x: Array,
        widest: float | Array,
        noise: Array | float,
        precision: float,
        y: Array | None = None,
        snap: Forward | None = None,
    ) -> Ladder:
        """The ladder around every ``x`` from the ``widest`` step down, in one call of ``forward``.

        It is asked for ``y`` too where that is not known. ``snap`` rounds points to those that forward can tell apart.
        """
        steps = widest * LADDER
        points = np.concatenate(([x] if y is None else [], (x + steps).ravel(), (x - steps).ravel()), axis=None)
        points = snap(points) if snap else points
        values, (above, below) = forward(points), points[-2 * LEVELS * x.size :].reshape(2, LEVELS, x.size)
        high, low = values[-2 * LEVELS * x.size :].reshape(2, LEVELS, x.size)
        return cls(x, values[: x.size] if y is None else y, high, low, steps, above - below, noise, precision)

    @cached_property
    def rounding(self) -> Array:
        """How far the difference of the two sides may be off, at every step."""
        least = np.maximum(2 * self.precision * np.maximum(np.abs(self.above), np.abs(self.below)), LEAST_ROUNDING)
        return np.maximum(least, 2 * self.noise, out=least)

    def central(self, *, wary: bool = True) -> tuple[Array, Array, Array]:
        """The slope at every point by central differences alone, its error bound, and the noise part of that."""
        differences = (self.above - self.below) / self.gaps
        scatter = (self.rounding + self.precision * np.abs(self.x * differences[-1])) / self.gaps
        return extrapolate(differences, scatter, tableau(len(differences), RATIO, 2), wary=wary)

    def slopes(
        self, forward_at: Callable[[NDArray[np.intp]], Forward], visible: VisibleSlope, neighbours: bool = False
    ) -> Slopes:
        """The slope at every point; points that the ladder cannot settle are measured by ``differentiate_one_sided``.

        ``forward_at`` makes the forward of some of the points, for numbers in their order, over and over. ``visible``
        tells from the slopes the least one that counts at each point. With ``neighbours`` the points lie side by side
        on one curve, and share their error bounds.
        """
        x, y, precision, n = self.x, self.y, self.precision, self.x.size
        last, (value, error, noise) = self.rounding[-1], self.central()
        least = np.broadcast_to(visible(value), n)
        second = self.above[-2:] + self.below[-2:] - 2 * y
        unsettled = ~(error <= 1e-9 * (np.abs(value) + least) + 30 * noise) | ~np.isfinite(y)
        unsettled |= kink_indicator(second, 8 * last + 8 * precision * np.abs(x * value), least * self.steps[-1])
        if neighbours:
            error = _largest_nearby(error, unsettled)
        rough = np.flatnonzero(unsettled)
        kind = np.zeros(n, np.int8)
        left = right = value
        left_error = right_error = error
        curvature = np.abs(second[-1]) / self.steps[-1] ** 2
        forwards = 2.0 * LEVELS
        if rough.size:
            left, right, left_error, right_error = value.copy(), value.copy(), error.copy(), error.copy()
            fine_steps = FINE_WIDEST_STEP * np.broadcast_to(self.steps[0], n)[rough]
            fine = differentiate_one_sided(
                forward_at(rough), x[rough], y[rough], fine_steps, last[rough], precision, least[rough]
            )
            forwards += fine.forwards * rough.size / n
            agreed = np.abs(value[rough] - fine.value) <= error[rough] + fine.error
            coarse_wins = (fine.kind == PointKind.SMOOTH) & (error[rough] < fine.error) & agreed
            finer = (fine.value, fine.error, fine.left, fine.right, fine.left_error, fine.right_error)
            for ours, theirs in zip((value, error, left, right, left_error, right_error), finer, strict=True):
                ours[rough] = np.where(coarse_wins, ours[rough], theirs)
            kind[rough], curvature[rough] = fine.kind, fine.curvature
        for each in (error, left_error, right_error) if rough.size else (error,):
            each += 1e-17 * least
        sides, widest = (left, right, left_error, right_error), float(self.steps[0].max(initial=0.0))
        return Slopes(value, error, *sides, kind, curvature, last, forwards, widest, precision)


@dataclass(frozen=True)
class LadderPoints:
    """The points of a ladder around each of n points, and behind them the probes for noise.

    ``steps`` and ``gaps``, the distances between the points of a step, are (levels × n). ``values`` are forward's at
    the points, where they are known.
    """

    points: Array
    steps: Array
    gaps: Array
    widest: float
    values: Array | None = None


def ladder_points(x: Array, span: float, step: float | None, precision: float = EPSILON) -> LadderPoints:
    """The points at which ``differentiate`` asks for forward."""
    widest = step or widest_step(span, precision)
    ends = 2 * LEVELS * x.size
    steps = widest * _step_factors(x) * LADDER
    probes = noise_probes(x, span, precision)
    points = np.empty(ends + probes.size)
    above, below = points[:ends].reshape(2, LEVELS, x.size)
    np.add(x, steps, out=above)
    np.subtract(x, steps, out=below)
    points[ends:] = probes
    return LadderPoints(points, steps, above - below, widest)


@np.errstate(all="ignore")
def differentiate(
    forward: Forward,
    x: Array,
    y: Array,
    span: float,
    step: float | None = None,
    precision: float = EPSILON,
    known: LadderPoints | None = None,
) -> Slopes:
    """The slope of ``forward`` at every ``x`` (1-D, where it has the values ``y``), with its error bound.

    Eight forwards a point: central differences at four steps, from ``step`` (unless given 0.2 % of ``span``, or 5 % in
    a short precision) down by factors of three, extrapolated. Points where these do not converge are measured again
    with finer, one-sided steps, which distinguish kinks, jumps and edges of the domain. ``precision`` is half a unit in
    the last place of the precision that forward computes in. ``known`` are its ``ladder_points``.
    """
    at = known or ladder_points(x, span, step, precision)
    values = forward(at.points) if at.values is None else at.values
    ends = 2 * LEVELS * x.size
    rise = finite_rise(y)
    above, below = values[:ends].reshape(2, LEVELS, x.size)
    noise = noise_along(values[ends:], x, rise if x.size > 1 else np.inf, precision)
    found = Ladder(x, y, above, below, at.steps, at.gaps, noise, precision).slopes(
        lambda rows: forward, lambda slopes: rise / span, neighbours=True
    )
    return replace(found, forwards=found.forwards + (values.size - ends) / x.size, step=at.widest)


def widest_step(span: float, precision: float) -> float:
    """The first step of a ladder on a range of this length."""
    return (WIDEST_STEP if precision == EPSILON else WIDEST_LOW_PRECISION) * span


def _step_factors(x: Array) -> Array:
    """A factor ≤ 1 on the steps at each point: smaller where points are closer, because forward is curved there."""
    gaps = consecutive_differences(x)
    if x.size < 3 or gaps.min() <= 0 or gaps.min() >= _DENSE_SPACING * gaps.max():
        return np.ones(x.size)
    spacing = np.maximum(np.concatenate((gaps, gaps[-1:])), np.concatenate((gaps[:1], gaps)))
    share = spacing / median(spacing)
    return np.where(share < _DENSE_SPACING, np.maximum(share / 2, _MIN_STEP_FACTOR), 1.0)


def kink_indicator(second: Array, noise: Array, visible: Array) -> NDArray[np.bool_]:
    """Kink indicator: whether the second difference at the two finest steps falls with h and not with h²."""
    bend = np.abs(second)
    return (bend[1] > noise) & (bend[1] > 0.7 / RATIO * bend[0]) & (bend[1] > 1e-7 * visible)


def _largest_nearby(error: Array, unsettled: NDArray[np.bool_]) -> Array:
    """The largest error bound among the settled points up to two places away.

    Where two columns of the tableau cross by chance, the bound of a single point is too small.
    """
    return np.maximum(error, moving_maximum(np.where(unsettled, 0.0, error), 2))


def differentiate_one_sided(
    forward: Forward,
    x: Array,
    y: Array,
    widest: float | Array,
    rounding: Array,
    precision: float,
    visible: float | Array,
) -> Slopes:
    """Slopes at the few points where the first ladder did not converge: 14 forwards each, one-sided and central.

    ``rounding`` bounds the noise of ``y``; ``visible`` is the slope of the picture's diagonal: smaller differences
    are invisible.
    """
    ratio = FINE_RATIO if precision == EPSILON else FINE_RATIO_LOW_PRECISION
    steps = widest * ratio ** -np.arange(FINE_LEVELS)[:, None]
    points = np.stack((x + steps, x - steps))
    above, below = forward(points.ravel()).reshape(points.shape)
    run = np.abs(points - x)
    run[run == 0] = np.nan
    ahead, behind = run
    rounding = np.where(np.isfinite(rounding), rounding, 2 * precision * np.abs(y))

    def slope(rise: Array, run: Array, order: int) -> tuple[Array, Array, Array, Array]:
        quotient = rise / run
        scatter = (rounding + precision * np.abs(x * quotient[-1])) / run
        table, flat = tableau(FINE_LEVELS, ratio, order), (FINE_LEVELS, -1)
        found = extrapolate(quotient.reshape(flat), scatter.reshape(flat), table)
        value, error, noise = (each.reshape(quotient.shape[1:]) for each in found)
        return quotient, value, error, noise

    _, value, error, noise = slope(above - below, ahead + behind, 2)
    # Of the second differences counts what is neither noise nor the slope between two runs of different lengths.
    bend, mean_run = above + below - 2 * y - value * (ahead - behind), (ahead + behind) / 2
    curvature, doubt, _ = extrapolate(bend / mean_run**2, 4 * rounding / mean_run**2, tableau(FINE_LEVELS, ratio, 2))
    curvature = np.fmax(np.abs(curvature) - doubt, 0.0)
    # What follows is told of both sides, first of the right one.
    rises, runs = np.stack((above - y, y - below), axis=1), np.stack((ahead, behind), axis=1)
    quotients, sides, side_errors, _ = slope(rises, runs, 1)
    (right, left), there = sides, np.isfinite(side_errors)
    # Where only the curvature jumps, as ELU's at 0, central differences converge one order more slowly than
    # their extrapolation assumes; one-sided ones do not. The error is at least the disagreement of the two.
    error = np.fmax(error, np.abs(right - left) / 2 + np.abs(value - (left + right) / 2))
    scale = np.abs(value) + np.abs(left) + np.abs(right) + visible
    kind = np.zeros(x.size, np.int8)
    kind[~(error <= 1e-3 * scale) & (error > 1e3 * noise)] = PointKind.UNRESOLVED
    by_side, forwards = (left, right, side_errors[1], side_errors[0]), 2.0 * FINE_LEVELS
    found = Slopes(value, error, *by_side, kind, curvature, rounding, forwards, float(np.max(widest)), precision)
    _mark_kinks_and_edges(found, quotients, visible)
    jumps = _has_jump(np.abs(rises), _NOISE_FACTOR * rounding + 1e-9 * visible * widest)
    # A rise of some last places does not shrink with the step either: vectorised code differs by that much.
    audible = np.abs(quotients[-1] * runs[-1]) > _NOISE_FACTOR * precision * np.abs(y)
    grows = _grows_without_bound(quotients) & audible & there
    if jumps.any() or grows.any():
        _mark_infinite(found, quotients[-1], jumps, grows)
    undefined = ~np.isfinite(y) | ~there.any(axis=0)
    kind[undefined] = PointKind.NONFINITE
    value[undefined], error[undefined] = np.nan, np.inf
    return found


def _mark_kinks_and_edges(found: Slopes, quotients: Array, visible: float | Array) -> None:
    """Mark the points whose one-sided slopes stay apart, and those that have a slope on one side alone.

    ``quotients`` are the one-sided differences (levels × 2 × n), first those of the right side.
    """
    gap = np.abs(found.right - found.left)
    # As the step shrinks, the gap between the one-sided slopes stays at a kink, and shrinks with it where smooth.
    disagreement = np.abs(quotients[:, 1] - quotients[:, 0])
    persistent = (disagreement[-2:] > gap / 2).all(axis=0) & (disagreement[-1] > disagreement[-3] / 2)
    largest = np.maximum(np.abs(found.left), np.abs(found.right))
    floor = 5 * (found.left_error + found.right_error) + 1e-6 * largest + 1e-6 * visible
    has_right, has_left = np.isfinite(found.right_error), np.isfinite(found.left_error)
    kink = has_left & has_right & persistent & (gap > floor)
    found.kind[kink] = PointKind.KINK
    found.error[kink] = gap[kink] / 2
    if (edge := has_left ^ has_right).any():
        found.kind[edge] = PointKind.EDGE
        found.value[edge] = np.where(has_right, found.right, found.left)[edge]
        found.error[edge] = np.where(has_right, found.right_error, found.left_error)[edge]


def _mark_infinite(found: Slopes, finest: Array, jumps: Mask, grows: Mask) -> None:
    """Mark jumps, and kinks with a vertical side, of which the slope ``grows``; the ``finest`` differences have signs.

    All three are (2 × n), the right side first.
    """
    jump = jumps.any(axis=0)
    vertical = grows & ~jump
    for side, which in enumerate((found.right, found.left)):
        steep = vertical[side]
        infinite = steep | jumps[side]
        which[infinite] = np.copysign(np.inf, finest[side, infinite])
        found.value[steep], found.error[steep] = which[steep], np.inf
        found.kind[steep & (found.kind != PointKind.EDGE)] = PointKind.KINK
    found.kind[jump] = PointKind.JUMP
    found.value[jump], found.error[jump] = np.nan, np.inf


def _has_jump(rise: Array, noise_floor: Array) -> NDArray[np.bool_]:
    """Whether the rise does not shrink with the step: a jump on that side."""
    return (rise[-1] > noise_floor) & (rise[-1] > 0.5 * rise[-3])


def _grows_without_bound(quotient: Array) -> NDArray[np.bool_]:
    """Whether a one-sided slope grows without bound as the step shrinks, as that of √x at 0."""
    coarse, middle, fine = np.abs(quotient[-3:])
    return (fine > 1.5 * middle) & (middle > 1.5 * coarse)


def remeasure(forward: Forward, x: Array, y: Array, slopes: Slopes, rows: NDArray[np.intp], visible: Array) -> Slopes:
    """The same slopes, with those of ``rows`` measured a second time by the finer ladder.

    Where the two contradict each other the finer one is taken, which is more local and one-sided. Elsewhere the error
    bound is widened by the difference between them, or from the slope by other steps if that is smaller. ``visible``,
    one for each of ``rows``, is the least visible slope.
    """
    with np.errstate(all="ignore"):
        widest, noise = FINE_WIDEST_STEP * slopes.step, slopes.noise[rows]
        fine = differentiate_one_sided(forward, x[rows], y[rows], widest, noise, slopes.precision, visible)
        difference = np.abs(slopes.value[rows] - fine.value)
        confirmed = (fine.kind == PointKind.SMOOTH) & (difference <= EVIDENCE_BOUNDS * slopes.error[rows] + fine.error)
        widened, steps = slopes.error[rows], _OTHER_WIDEST * slopes.step
        if (confirmed & (difference > widened)).any():
            other = Ladder.around(forward, x[rows], steps, noise / 2, slopes.precision, y[rows]).central()[0]
            widened = np.fmax(widened, np.fmin(difference, np.abs(slopes.value[rows] - other)))
        confirmed &= widened <= EVIDENCE_BOUNDS * fine.error
    value, error = np.where(confirmed, slopes.value[rows], fine.value), np.where(confirmed, widened, fine.error)
    return slopes.with_rows(rows, replace(fine, value=value, error=error, noise=noise))
