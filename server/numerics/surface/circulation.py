"""Line integrals of a field by Gauss–Legendre quadrature: its circulation around rectangles, and its potential."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import EPSILON, Array, Mask
from ..curve.integral_check import TRUNCATION_SHARE
from ..differentiation.quadrature import NODES, WEIGHTS

VectorField = Callable[[Array, Array], tuple[Array, Array]]  # the two components of a field at points (s, t)
# ulps: what a field may lose by rounding, in units of the precision that it carries: a short one is felt at every node.
_ULPS = {True: 256.0, False: 16.0}  # In double and in short precision.
# sample: the curl inside a cell is sampled by rectangles of this share of its size, in double and in short precision, …
_SAMPLE_SIZE = {True: 2.0**-8, False: 2.0**-3}
RECTANGLES_ACROSS, _ACROSS_EXPENSIVE = 4, 3  # budget: there are this many of them in each direction of the cell
_MIN_SIZE = 2.0**-14  # sample: … and by still smaller ones, in which a piecewise constant field has no circulation
# pattern: a curl if this share of them has the cell's sign, their mean its density within _WITHIN, and a small scatter.
_MIN_SAME_SIGN, _WITHIN, _MIN_SIGNAL = 0.7, 0.5, 6.0
# sample: where in its part of the cell each rectangle lies, so that none lies on a line that means something.
_OFFSETS = np.array([0.382, 0.295])


@dataclass(frozen=True)
class Rectangles:
    """Rectangles, one element each, and the line integrals of a field along their ``bottom``, ``right``, ``top`` and
    ``left`` edges, from left to right and upwards. ``allowed`` is what their circulation may be by rounding.
    """

    x0: Array
    x1: Array
    y0: Array
    y1: Array
    bottom: Array
    right: Array
    top: Array
    left: Array
    allowed: Array

    @property
    def circulation(self) -> Array:
        """The line integral once around, anticlockwise."""
        return self.bottom + self.right - self.top - self.left

    @property
    def area(self) -> Array:
        """Of each rectangle."""
        return (self.x1 - self.x0) * (self.y1 - self.y0)

    @property
    def strength(self) -> Array:
        """The largest line integral along one of its edges, in size."""
        return np.abs(np.stack((self.bottom, self.right, self.top, self.left))).max(axis=0)

    @property
    def density(self) -> Array:
        """The circulation for each unit of area: the mean curl."""
        return self.circulation / self.area

    def without(self, some: NDArray[np.intp]) -> Rectangles:
        """All but some of them."""
        return Rectangles(*(np.delete(each, some) for each in astuple(self)))

    def joined(self, others: Rectangles) -> Rectangles:
        """These and others."""
        return Rectangles(*(np.concatenate(pair) for pair in zip(astuple(self), astuple(others), strict=True)))


def circulation_around(field: VectorField, x0: Array, x1: Array, y0: Array, y1: Array, precision: float) -> Rectangles:
    """The circulation around rectangles, three Gauss–Legendre nodes an edge, all in one question to the field.

    ``precision`` is half a unit in the last place of what the field carries. Raises ``FunctionFailed``.
    """
    across, up = x0 + (x1 - x0) * NODES[:, None], y0 + (y1 - y0) * NODES[:, None]
    one = np.ones((NODES.size, 1))
    s = np.stack((across, one * x1, across, one * x0))
    t = np.stack((one * y0, up, one * y1, up))
    first, second = (each.reshape(s.shape) for each in field(s.ravel(), t.ravel()))
    sides = np.stack((first[0], second[1], first[2], second[3]))
    length = np.stack((x1 - x0, y1 - y0, x1 - x0, y1 - y0))
    integral = length * np.einsum("n,enk->ek", WEIGHTS, sides)
    size = np.abs(sides).max(axis=1)
    bend = np.abs(sides[:, 0] - 2 * sides[:, 1] + sides[:, 2])
    # What three nodes may miss, guessed from what they see: the next order of a falling series.
    truncation = TRUNCATION_SHARE * np.nan_to_num((bend / size) ** 2) * bend
    turn = np.nan_to_num(np.ptp(sides, axis=1) / length)
    x_rounding = np.abs(np.stack((y0, x1, y1, x0))) * EPSILON * turn
    allowed = (length * (_ULPS[precision == EPSILON] * precision * size + truncation + x_rounding)).sum(axis=0)
    bottom, right, top, left = integral
    return Rectangles(x0, x1, y0, y1, bottom, right, top, left, allowed)


def grid_rectangles(field: VectorField, x: Array, y: Array, precision: float) -> Rectangles:
    """The cells between the lines of a grid, row by row from the bottom."""
    x0, y0 = (each.ravel() for each in np.meshgrid(x[:-1], y[:-1]))
    x1, y1 = (each.ravel() for each in np.meshgrid(x[1:], y[1:]))
    return circulation_around(field, x0, x1, y0, y1, precision)


def subdivide(cells: Rectangles, some: NDArray[np.intp], count: int) -> tuple[Array, Array, Array, Array]:
    """The sides (x0, x1, y0, y1) of ``count`` × ``count`` parts of each of ``some`` cells."""
    share = np.linspace(0.0, 1.0, count + 1)[:, None]
    x = cells.x0[some] + (cells.x1 - cells.x0)[some] * share
    y = cells.y0[some] + (cells.y1 - cells.y0)[some] * share
    column, row = (each.ravel() for each in np.meshgrid(np.arange(count), np.arange(count)))
    return x[column].ravel(), x[column + 1].ravel(), y[row].ravel(), y[row + 1].ravel()


def cells_with_curl(
    field: VectorField, cells: Rectangles, some: NDArray[np.intp], precision: float, expensive: bool
) -> Mask:
    """Which of ``some`` cells have a circulation spread over their area, that is a curl.

    A kink that three nodes cannot follow loses it inside, a point around which forward jumps (as an angle does) and
    lines along which it does (as a gate) keep it in that one place, and noise turns every way.
    """
    count = _ACROSS_EXPENSIVE if expensive else RECTANGLES_ACROSS
    samples = _samples(field, cells, some, count, _SAMPLE_SIZE[precision == EPSILON], precision)
    curl, whole = samples.density.reshape(-1, some.size), cells.density[some]
    alike = (np.sign(curl) == np.sign(whole)).mean(axis=0) >= _MIN_SAME_SIGN
    mean, scatter = np.nanmean(curl, axis=0), np.nanstd(curl, axis=0) / count
    real = alike & (np.abs(mean - whole) <= _WITHIN * np.abs(whole)) & (np.abs(mean) > _MIN_SIGNAL * scatter)
    if precision > EPSILON and real.any():
        # A field of few digits may be one of many steps, each of them flat.
        finest = _samples(field, cells, some, count, _MIN_SIZE, precision).circulation.reshape(-1, some.size)
        real &= (finest == 0).mean(axis=0) < _MIN_SAME_SIGN
    return real


def _samples(
    field: VectorField, cells: Rectangles, some: NDArray[np.intp], count: int, share: float, precision: float
) -> Rectangles:
    """Rectangles of a ``share`` of ``some`` cells in width and height, ``count`` × ``count`` in each cell."""
    across, up = (each.ravel() for each in np.meshgrid(np.arange(count), np.arange(count)))
    width, height = cells.x1[some] - cells.x0[some], cells.y1[some] - cells.y0[some]
    offsets = np.arange(count * count) * _OFFSETS[:, None] % 1 * (1 - count * share)
    x0 = cells.x0[some] + width * ((across + offsets[0]) / count)[:, None]
    y0 = cells.y0[some] + height * ((up + offsets[1]) / count)[:, None]
    x1, y1 = x0 + share * width, y0 + share * height
    return circulation_around(field, x0.ravel(), x1.ravel(), y0.ravel(), y1.ravel(), precision)


@np.errstate(all="ignore")
def potential_function(field: VectorField, x: Array, y: Array, grad_output: float, like: Array) -> Array:
    """The line integral of ``field / grad_output`` at the points ``x`` × ``y``, flat, row by row of one y.

    From the middle of the row that is known farthest, and from there up and down; NaN where no number leads to.
    Its mean is that of ``like``, for a gradient says nothing of the height. Raises ``FunctionFailed``.
    """
    s, t = np.meshgrid(x, y)
    width, height = np.diff(x), np.diff(y)
    across = s[:, :-1] + width * NODES[:, None, None], np.broadcast_to(t[:, :-1], (NODES.size, y.size, width.size))
    up = np.broadcast_to(s[:-1], (NODES.size, height.size, x.size)), t[:-1] + height[:, None] * NODES[:, None, None]
    sides, rises = (
        np.tensordot(WEIGHTS, field(a.ravel(), b.ravel())[row].reshape(a.shape), 1)
        for row, (a, b) in enumerate((across, up))
    )
    sides, rises = sides * width / grad_output, rises * height[:, None] / grad_output
    row = int(np.isfinite(sides).sum(axis=1).argmax())
    base = _cumulated(sides[row], x.size // 2)
    heights = np.array([_cumulated(each, row) for each in rises.T]).T + base
    flat = heights.ravel()
    known = np.isfinite(flat) & np.isfinite(like)
    return flat + (like[known].mean() - flat[known].mean() if known.any() else 0.0)


def _cumulated(steps: Array, start: int) -> Array:
    """The sums of steps from the place ``start``, where it is 0, in both directions."""
    return np.concatenate((-np.cumsum(steps[:start][::-1])[::-1], [0.0], np.cumsum(steps[start:])))
