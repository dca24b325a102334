"""The slopes of a map: every output by every element, and along lines, with error bounds: a numerical Jacobian."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import EPSILON, Array, Forward, largest_magnitude
from ...runtime.reference import is_repeated
from ...runtime.section import ROW_ELEMENTS, Section
from ..tolerance import ALIKE_SHARE, MANY_ULPS
from .arithmetic import precision_of
from .finite_differences import EVIDENCE_BOUNDS, LADDER, LEVELS, Ladder, PointKind, Slopes, widest_step
from .noise import FINE_PROBES, ROUNDING_STEP, noise_level, probe_distances

Indices = NDArray[np.intp]
_NOISE_LINES = 2  # budget: the number of random lines through all elements of ``wrt`` along which noise is probed
# budget: forward's precision is estimated from this many values on a line; the other, a sample, is how far they reach.
_SAMPLES, _SAMPLE_SHARE = 24, 0.1


@dataclass(frozen=True)
class BasePoint:
    """The point ``here`` at which a map is differentiated: its outputs ``y`` there, their noise, and its precision.

    ``outputs`` gives those for every row of points (points × elements), NaN where the Function refuses one. ``span`` is
    the range of the elements, the scale of all steps; ``precision`` is half a unit in the last place.
    ``deterministic`` says that forward, asked again, answers the same. Where elements are as far from 0 as a ``reach``
    beyond the span, that is the scale of their steps.
    """

    outputs: Callable[[Array], Array]
    here: Array
    span: float
    y: Array
    noise: Array
    precision: float
    deterministic: bool = True
    reach: float | Array = 0.0

    @classmethod
    def plain(cls, copies: Section, span: float, precision: float = EPSILON, only: slice = slice(None)) -> BasePoint:
        """The point without noise probes, of ``only`` some outputs, from one forward. Raises ``FunctionFailed``."""
        y = copies.forward(copies.here[None])[0, only]
        return cls(partial(copies.willing, only=only), copies.here, span, y, np.zeros(y.size), precision)

    @classmethod
    def of(cls, copies: Section, span: float, only: slice = slice(None)) -> BasePoint:
        """The point with noise, precision and determinism probed, from 121 forwards. Raises ``FunctionFailed``."""
        ground, t = cls.plain(copies, span, only=only), span * np.linspace(-_SAMPLE_SHARE, _SAMPLE_SHARE, _SAMPLES)
        with np.errstate(all="ignore"):
            points = np.concatenate((_on_line(copies.here, t), *_probes(copies.here, span)))
            # All of them are asked again: in a shorter batch other lanes of the processor would round otherwise.
            values, again = ground.outputs(points), ground.outputs(points)[:_SAMPLES]
            samples, probed = values[:_SAMPLES], values[_SAMPLES:]
            deterministic = is_repeated(again, samples, copies.device)
            precision = _precision(ground, copies, t, samples)
            if precision != EPSILON:
                probed = ground.outputs(np.concatenate(_probes(copies.here, span, precision)))
            noise = _noise(probed, ground.y, precision)
        return replace(ground, noise=noise, precision=precision, deterministic=deterministic)

    def along(self, direction: Array) -> BasePoint:
        """The outputs as functions of one number: how far all elements are moved in this direction."""
        return replace(self, outputs=lambda way: self.outputs(self.here + way * direction), here=np.zeros(1))

    def moved(self, elements: Indices, t: Array, rows: Indices) -> Array:
        """The outputs ``rows`` where, in each copy, one of the ``elements`` is replaced by a number of ``t``."""
        size, parts = max(1, ROW_ELEMENTS // max(self.here.size, self.y.size)), []
        for first in range(0, t.size, size):
            now = slice(first, first + size)
            points = np.tile(self.here, (t[now].size, 1))
            points[np.arange(len(points)), elements[now]] = t[now]
            parts.append(self.outputs(points)[:, rows])
        return np.concatenate(parts)

    @property
    def widest(self) -> Array:
        """The first step along each element."""
        widest = widest_step(1.0, self.precision) * np.maximum(self.span, self.reach)
        return np.broadcast_to(widest, self.here.shape)


@np.errstate(all="ignore")
def jacobian_slopes(ground: BasePoint, rows: Indices, columns: Indices) -> Slopes:
    """The numerical slopes of these outputs by these elements of ``wrt``, flat, row by row of one output.

    Eight forwards a column, and a finer ladder with both sides for the cells that these cannot settle.
    """
    t, y = ground.here[columns], ground.y[rows]
    steps = ground.widest[columns] * LADDER
    cells = y.size * columns.size
    values = ground.moved(np.tile(columns, 2 * LEVELS), np.concatenate((t + steps, t - steps)).ravel(), rows)
    above, below = values.reshape(2, LEVELS, columns.size, y.size).swapaxes(2, 3).reshape(2, LEVELS, cells)
    gaps = np.tile((t + steps) - (t - steps), y.size)
    by, at, noise = np.tile(t, y.size), np.repeat(y, columns.size), np.repeat(ground.noise[rows], columns.size)
    return Ladder(by, at, above, below, np.tile(steps, y.size), gaps, noise, ground.precision).slopes(
        lambda some: forward_of_cells(ground, rows, columns, some),
        lambda value: steepest_per_output(value, columns.size),
    )


def steepest_per_output(value: Array, columns: int) -> Array:
    """The largest slope of each output, in each of its cells."""
    size = np.abs(value.reshape(-1, columns))
    return np.repeat(np.max(size, axis=1, initial=0.0, where=np.isfinite(size)), columns)


def forward_of_cells(ground: BasePoint, rows: Indices, columns: Indices, cells: Indices) -> Forward:
    """The outputs in some ``cells`` of these rows and columns, for numbers of the element of each cell's column."""
    which_row, places = np.divmod(cells, columns.size)
    moved, first, which = np.unique(places, return_index=True, return_inverse=True)

    def forward(t: Array) -> Array:
        t = t.reshape(-1, cells.size)
        values = ground.moved(np.tile(columns[moved], len(t)), t[:, first].ravel(), rows)
        return values.reshape(len(t), moved.size, -1)[:, which, which_row].ravel()

    return forward


def _probes(here: Array, span: float, precision: float = EPSILON) -> list[Array]:
    """The noise probes: points on random lines so near ``here`` that forward varies by noise only, at two distances."""
    lines = [random_direction(here.size, 1 + line) for line in range(_NOISE_LINES)]
    distances = probe_distances(here, span, precision)
    return [here + side[:, None] * (gap * line) for gap, side in zip(*distances, strict=True) for line in lines]


def _noise(values: Array, y: Array, precision: float) -> Array:
    """The root mean square noise of every output, from their values at the probes, which are those of a precision."""
    step = ROUNDING_STEP * precision / EPSILON
    close, less_close = np.split(values, [2 * FINE_PROBES * _NOISE_LINES])
    probes = [each.reshape(_NOISE_LINES, -1, y.size).swapaxes(1, 2).ravel() for each in (close, less_close)]
    noise = noise_level(*probes, step=step).reshape(_NOISE_LINES, y.size).max(axis=0)
    loud = noise > MANY_ULPS * precision * np.abs(y)
    # With no more noise than that forward seems perfect, but may be rounded as coarsely as elsewhere.
    return np.where(loud, noise, np.maximum(noise, min(largest_magnitude(noise[loud]), step)))


def _on_line(here: Array, t: Array) -> Array:
    """The places ``t`` of a random line through all elements."""
    return here + t[:, None] * random_direction(here.size, 0)


def _precision(ground: BasePoint, copies: Section, t: Array, values: Array) -> float:
    """The relative precision of forward (half an ulp), from the output that varies most along a random line."""
    most = int(np.nan_to_num(np.ptp(values, axis=0)).argmax())
    return precision_of(copies, lambda s: ground.outputs(_on_line(ground.here, s))[:, most], t, values[:, most])


@lru_cache(maxsize=16)
def random_direction(size: int, seed: int) -> Array:
    """A random direction: reproducible numbers of either sign between ½ and 1."""
    draw = np.random.default_rng(seed)
    return draw.uniform(0.5, 1.0, size) * draw.choice((-1.0, 1.0), size)


def slopes_along(ground: BasePoint, direction: Array, rows: Indices) -> Slopes:
    """The numerical slopes of these outputs along a line in this direction through all elements."""
    return jacobian_slopes(ground.along(direction), rows, np.zeros(1, np.intp))


def partials_add_up(ground: BasePoint, rows: Indices, columns: Indices, partials: Slopes) -> NDArray[np.bool_]:
    """Whether the slope of each output along a random line is the sum of the ``partials``.

    Where values are tied, as in a sort, an output may be flat along every element and yet move when several move: then
    it has no gradient, and no slope by one element says what backward may return. Kinks by one element are left out.
    """
    shape = rows.size, columns.size
    value, error = partials.value.reshape(shape), partials.error.reshape(shape)
    smooth = (partials.kind.reshape(shape) == PointKind.SMOOTH).all(axis=0)
    direction = np.zeros(ground.here.size)
    direction[columns[smooth]] = random_direction(columns.size, 3)[smooth]
    share, line = direction[columns], slopes_along(ground, direction, rows)
    parts = np.where(smooth, value * share, 0.0)
    uncertainty = np.where(smooth, error * np.abs(share), 0.0).sum(axis=1) + line.error
    off = np.abs(line.value - parts.sum(axis=1))
    return (line.kind == PointKind.SMOOTH) & (
        off <= EVIDENCE_BOUNDS * uncertainty + ALIKE_SHARE * (np.abs(parts).sum(axis=1) + np.abs(line.value))
    )
