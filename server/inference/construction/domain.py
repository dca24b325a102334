"""The domain of an input: the interval in which it is swept first, where forward is finite and not constant."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import torch

from ...runtime.arrays import Array, Forward, Interval, unbroken_runs
from ...runtime.kept_values import spread_dim
from ...runtime.rng import SEED
from ..search.trial import RepeatableCall
from .elementwise import all_close
from .swept_element import ElementPair

_ANYWHERE = (-math.inf, math.inf)
PROBABILITY_DOMAIN = (0.05, 0.95)
USUAL_DOMAIN = (-3.0, 3.0)
POSITIVE_DOMAIN = (0.05, 4.0)
# How far the end elements of rising numbers are moved, and the share of the way to a neighbour that the others are.
_BEYOND, _TOWARDS = 1.0, 0.95
# bound: what a stable matrix may be swept to: how much it shortens at least, and how far from 0 its eigenvalues stay.
_STABLE_NORM, _STABLE_MARGIN = 0.7, 0.05
# Half-width and number of points of the search for the finite interval, and bisection steps of its ends.
_SEARCH_RADIUS, _POINTS, _BISECTIONS = 10.0, 41, 30
# Larger half-widths to try where forward is constant nearby, and the factor by which the domain exceeds them.
_WIDER_RADII, _MARGIN = (10.0, 30.0, 100.0, 300.0, 1000.0, 10_000.0), 1.5
# About how many calls the search for ends, variation and steep ends takes.
_CALLS = 3 * _POINTS
# A staircase is visible if at most this share of the intervals has a step; relative distance for testing flatness.
_STEP_SHARE, _FLAT_STEP, _MIN_STEPS = 0.7, 1e-6, 2
# A curve whose largest value is this many times the median is too steep to show; the domain is narrowed by this factor.
_STEEP_RATIO, _NARROWING, _MAX_NARROWINGS = 1e4, 2 / 3, 5
_LIMIT_NAMES = ("min", "max", "low", "high", "upper", "lower", "bound", "clip", "clamp", "limit", "thresh", "cap")


def usual_domain(fill: str, tensor: torch.Tensor, index: tuple[int, ...]) -> tuple[Interval, Interval]:
    """The interval in which an element of a tensor of this fill is usually swept, and the one it must not leave."""
    if fill == "positive":
        return POSITIVE_DOMAIN, (POSITIVE_DOMAIN[0], math.inf)
    if fill == "negative":
        low, high = -POSITIVE_DOMAIN[1], -POSITIVE_DOMAIN[0]
        return (low, high), (-math.inf, high)
    if fill == "marginal" and index:
        span = _marginal_span(tensor, index)
        return span, span
    if fill in ("simplex", "marginal"):
        return PROBABILITY_DOMAIN, PROBABILITY_DOMAIN
    if fill in ("binary", "onehot"):
        return (0.0, 1.0), (0.0, 1.0)
    if fill == "stable":
        span = _stable_span(tensor[index[:-1]].tolist(), index[-2], index[-1])
        return span, span
    if fill == "rising" and index:
        row, place = tensor[index[:-1]].tolist(), index[-1]
        low = row[place] + _TOWARDS * (row[place - 1] - row[place]) if place else row[0] - _BEYOND
        high = row[place] + _TOWARDS * (row[place + 1] - row[place]) if place + 1 < len(row) else row[-1] + _BEYOND
        return (low, high), (low, high)
    return USUAL_DOMAIN, _ANYWHERE


def _marginal_span(tensor: torch.Tensor, index: tuple[int, ...]) -> Interval:
    """Where one of several probabilities may go, which the others make up for alike, so that none comes near 0."""
    dim = spread_dim(tuple(tensor.shape))
    row = tensor.movedim(dim, -1)[tuple(each for place, each in enumerate(index) if place != dim % tensor.dim())]
    held, place, count = float(tensor[index]), index[dim], row.numel()
    others = min((float(each) for at, each in enumerate(row) if at != place), default=held)
    return held - _TOWARDS * held * count / max(1, count - 1), held + _TOWARDS * others * count


def _stable_span(row: list[float], place: int, swept: int) -> Interval:
    """Where an element of a row of a stable matrix may go: its disc stays in the unit disc and in the left half."""
    beside = sum(abs(each) for at, each in enumerate(row) if at not in (place, swept))
    if swept == place:
        return beside - _STABLE_NORM, -beside - _STABLE_MARGIN
    reach = min(_STABLE_NORM + row[place], -row[place] - _STABLE_MARGIN) - beside
    return -reach, reach


def swept_domain(
    attempt: RepeatableCall,
    pair: ElementPair,
    usual: Interval,
    within: Interval,
    numbers: Collection[str],
) -> Interval:
    """The interval to sweep: the usual one, or one around the current value if forward is not finite there.

    It never leaves the one ``within`` which the values have a meaning. ``numbers`` are inputs of one element each that
    may be longer vectors.
    """
    held = float(attempt.tensor(pair.wrt)[pair.wrt_index])
    at = _Sweep(attempt, pair, tuple(numbers) if pair.wrt in numbers and _repeats(attempt) else ())
    main = attempt.recipe.inputs[0].name == pair.wrt
    wide = _with_limits(usual, attempt) if main else usual
    wide = max(wide[0], within[0]), min(wide[1], within[1])
    if not attempt.deadline.has(_CALLS):
        return wide
    low, high = _finite_interval(at, held, max(_SEARCH_RADIUS, *map(abs, wide)))
    if attempt.out_of_time:
        return wide
    low, high = max(low, within[0]), min(high, within[1])
    start, stop = max(low, wide[0]), min(high, wide[1])
    if not start < stop:
        start, stop = max(low, held - 3.0), min(high, held + 3.0)
    if not start < stop:
        return wide
    found = _narrowed_if_steep(at, *_widened_if_constant(at, *_without_fine_steps(at, start, stop, usual), low, high))
    return _rounded_inward(start, stop) if attempt.out_of_time else found


def _repeats(attempt: RepeatableCall) -> bool:
    """Whether forward returns the same whatever is drawn at random."""
    return all_close(attempt.outputs(), replace(attempt, seed=SEED + 1).outputs())


@dataclass(frozen=True)
class _Sweep:
    """What forward returns for the pair along ``t`` (1-D), NaN where it fails; in one call if ``numbers`` allow it."""

    attempt: RepeatableCall
    pair: ElementPair
    numbers: tuple[str, ...]

    def __call__(self, t: Array) -> Array:
        if self.numbers and t.size > 1:
            vectors = {name: self.attempt.tensor(name).repeat(t.size) for name in self.numbers}
            swept = torch.from_numpy(t).to(vectors[self.pair.wrt].dtype)
            out = self._output(self.attempt.with_values({**vectors, self.pair.wrt: swept}))
            if out is not None and out.shape == t.shape:
                return out.numpy()
        return np.array([self._alone(float(each)) for each in t])

    def _alone(self, t: float) -> float:
        out = self._output(self.attempt.with_element(self.pair.wrt, self.pair.wrt_index, t))
        try:
            return math.nan if out is None else float(out[self.pair.of_index])
        except IndexError:
            return math.nan

    def _output(self, call: RepeatableCall) -> torch.Tensor | None:
        outputs = call.outputs()
        return outputs[self.pair.output] if outputs and self.pair.output < len(outputs) else None


def _with_limits(usual: Interval, attempt: RepeatableCall) -> Interval:
    """The usual interval, widened to show both sides of the constants of a clamp or threshold."""
    limits = [
        abs(float(value))
        for name, value in attempt.values.items()
        if isinstance(value, int | float)
        and not isinstance(value, bool)
        and any(word in name.lower() for word in _LIMIT_NAMES)
    ]
    reach = max((each for each in limits if 2.0 < each <= 1000.0), default=0.0)
    return _scaled(usual, _MARGIN * reach) if reach else usual


def _scaled(usual: Interval, reach: float) -> Interval:
    reach = float(f"{max(reach, usual[1]):.3g}")
    return (usual[0] if usual[0] > 0 else -reach, reach)


def _finite_interval(at: Forward, held: float, far: float) -> Interval:
    """The interval around ``held`` in which forward is finite; a single pole does not end it."""
    t = np.linspace(-far, far, _POINTS)
    if not abs(held) <= far:
        t = t + held
    fine = np.isfinite(at(t))
    fine[1:-1] |= fine[:-2] & fine[2:]
    runs = unbroken_runs(fine)
    if not runs:
        return -math.inf, math.inf
    begin, end = max(runs, key=lambda run: (t[run[0]] <= held <= t[run[1]], run[1] - run[0]))
    low = -math.inf if begin == 0 else _finite_end(at, float(t[begin]), float(t[begin - 1]))
    high = math.inf if end == len(t) - 1 else _finite_end(at, float(t[end]), float(t[end + 1]))
    return low, high


def _finite_end(at: Forward, inside: float, outside: float) -> float:
    """The end of the finite interval by bisection, rounded if it is within 1e-6 of a round number."""
    for _ in range(_BISECTIONS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if np.isfinite(at(np.array([middle]))[0]) else (inside, middle)
    near = round(inside, 6)
    return near if abs(near - inside) <= 1e-6 else inside


def _without_fine_steps(at: Forward, start: float, stop: float, usual: Interval) -> Interval:
    """The interval, or a narrower one where the steps of a staircase would be too fine to see."""
    while stop - start > usual[1] - usual[0] and _is_fine_staircase(at, start, stop):
        start, stop = max(start, min(usual[0], start / 2)), min(stop, max(usual[1], stop / 2))
    return start, stop


def _is_fine_staircase(at: Forward, start: float, stop: float) -> bool:
    """Whether forward is a staircase with a step between most of the points."""
    t = np.linspace(start, stop, _POINTS)
    values, nearby = at(t), at(t + _FLAT_STEP * (stop - start))
    still = (values == nearby)[np.isfinite(values)]
    moves = np.flatnonzero(np.diff(values) != 0)
    if not moves.size or still.mean() <= _STEP_SHARE:
        return False
    return moves.size > max(_STEP_SHARE * (moves[-1] + 1 - moves[0]), _MIN_STEPS)  # beyond the steps it may be clamped


def _widened_if_constant(at: Forward, start: float, stop: float, low: float, high: float) -> Interval:
    """The interval, or a wider one if forward is constant in it."""
    if _varies(at, start, stop):
        return start, stop
    for far in _WIDER_RADII:
        a, b = max(low, -far), min(high, far)
        if a < b and _varies(at, a, b):
            return max(low, -_MARGIN * far), min(high, _MARGIN * far)
    return start, stop


def _varies(at: Forward, start: float, stop: float) -> bool:
    values = at(np.linspace(start, stop, _POINTS))
    finite = values[np.isfinite(values)]
    return bool(finite.size and np.ptp(finite))


def _narrowed_if_steep(at: Forward, start: float, stop: float) -> Interval:
    """A narrower interval where the curve is too steep at one end."""
    a, b = start, stop
    for _ in range(_MAX_NARROWINGS):
        sizes = np.abs(at(np.linspace(a, b, _POINTS)))
        sizes = sizes[np.isfinite(sizes)]
        if not sizes.size or sizes.max() <= _STEEP_RATIO * (1 + np.median(sizes)):
            break
        a, b = a * _NARROWING, b * _NARROWING
    else:
        return _rounded_inward(start, stop)
    return _rounded_inward(a, b)


def _rounded_inward(start: float, stop: float) -> Interval:
    """The interval with ends rounded inwards to three significant figures."""
    figure = 10.0 ** (math.floor(math.log10(max(abs(start), abs(stop)))) - 2)
    a, b = math.ceil(start / figure - 1e-9) * figure, math.floor(stop / figure + 1e-9) * figure
    return (float(f"{a:.9g}"), float(f"{b:.9g}")) if a < b else (start, stop)
