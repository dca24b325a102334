"""The curl test (potential test): what backward returns is a gradient only if it has no circulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import EPSILON, Array, Mask
from ..differentiation.noise import relative_precision
from .circulation import (
    RECTANGLES_ACROSS,
    Rectangles,
    VectorField,
    cells_with_curl,
    circulation_around,
    grid_rectangles,
    subdivide,
)

# Cells in each direction, and those where each point needs a call of its own (``dear``).
_CELLS, _CELLS_DEAR = 48, 8
# The most cells with circulation that are examined for a curl; a single one where a side has fewer than _CELLS_FEW.
_CELLS_FEW = 4
_MOST, _MOST_DEAR = 192, 4
# The cells begin so far inside the plane, so that none of their edges lies on a line that means something.
_OFF = (0.0382, 0.0295)
# At most _STEEP cells in which the field is too steep for the quadrature are subdivided, _PARTS times each way.
_STEEP, _PARTS = 96, 6
# A cell whose rounding hides more than this share of what the field is along its edges tells nothing.
_WIDE = 1e-2


@dataclass(frozen=True)
class _Worst:
    """The cell with the most circulation: its four sides and what the field turns there."""

    x0: float
    x1: float
    y0: float
    y1: float
    circulation: float
    curl: float


@dataclass(frozen=True)
class CurlTest:
    """Whether a field is the gradient of a function: ``holds`` is None where nothing could be judged.

    ``judged`` is the share of the plane that could be, ``turning`` the share in which there is a curl.
    """

    holds: bool | None
    judged: float
    turning: float
    worst: _Worst | None


NOT_TESTED = CurlTest(None, 0.0, 0.0, None)


@np.errstate(all="ignore")
def run_curl_test(field: VectorField, x: Array, y: Array, dear: bool, count: int | None = None) -> CurlTest:
    """The circulation of ``field`` over the plane from end to end of ``x`` and ``y``, around ``count``² cells.

    ``dear`` says that few points should be asked for. Only the field is asked, never forward. Raises
    ``FunctionFailed``. Source: the theorem of G. Green (1828).
    """
    count = count or (_CELLS_DEAR if dear else _CELLS)
    across, up = (np.linspace(*_inside(ends, off), count + 1) for ends, off in zip((x, y), _OFF, strict=True))
    precision = _carried(field, across, up)
    cells = grid_rectangles(field, across, up, precision)
    whole = cells.area.sum()
    if not dear:
        steep = np.isfinite(cells.circulation) & ~_known(cells)
        some = np.flatnonzero(steep)[np.argsort(-cells.strength[steep], kind="stable")[:_STEEP]]
        if some.size:
            cells = cells.without(some).joined(circulation_around(field, *subdivide(cells, some, _PARTS), precision))
    known = _known(cells)
    suspect = known & (np.abs(cells.circulation) > cells.allowed)
    most = _MOST_DEAR if dear else _MOST
    some = _chosen(cells, np.flatnonzero(suspect), most if count >= _CELLS_FEW else 1)
    real = some[cells_with_curl(field, cells, some, precision, dear)] if some.size else some
    judged = float(cells.area[known].sum() / whole)
    if not judged:
        return NOT_TESTED
    accused = cells.area[real].sum() / cells.area[some].sum() * cells.area[suspect].sum() if real.size else 0.0
    return CurlTest(not real.size, judged, float(accused / whole), _worst(cells, real))


def _known(cells: Rectangles) -> Mask:
    """Which cells say something: what they may turn by rounding is little beside the field, or there is no field."""
    with np.errstate(invalid="ignore"):
        return np.isfinite(cells.circulation) & (cells.allowed <= _WIDE * cells.strength)


def _inside(ends: Array, off: float) -> tuple[float, float]:
    span = float(ends[-1] - ends[0])
    return float(ends[0]) + off * span / RECTANGLES_ACROSS, float(ends[-1]) - off * span / (RECTANGLES_ACROSS + 1)


def _carried(field: VectorField, x: Array, y: Array) -> float:
    """Half a unit in the last place of what the field carries along a line in either direction."""
    precision = EPSILON
    for row in (0, 1):
        along, held = (x, float(y[y.size // 2])) if row == 0 else (y, float(x[x.size // 2]))
        for component in (0, 1):
            ask = _line(field, row, held, component)
            precision = max(precision, relative_precision(ask, along, ask(along)))
    return precision


def _line(field: VectorField, row: int, held: float, component: int) -> Callable[[Array], Array]:
    def ask(points: Array) -> Array:
        there = np.full(points.size, held)
        return field(points, there)[component] if row == 0 else field(there, points)[component]

    return ask


def _chosen(cells: Rectangles, suspects: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """Those with the most circulation, and as many others from all over."""
    if suspects.size <= most:
        return suspects
    worst = suspects[np.argsort(-np.abs(cells.circulation[suspects]), kind="stable")[: most // 2]]
    spread = suspects[np.linspace(0, suspects.size - 1, most - worst.size).astype(np.intp)]
    return np.unique(np.concatenate((worst, spread)))


def _worst(cells: Rectangles, real: NDArray[np.intp]) -> _Worst | None:
    if not real.size:
        return None
    row = int(real[np.abs(cells.circulation[real]).argmax()])
    x0, x1, y0, y1 = (float(each[row]) for each in (cells.x0, cells.x1, cells.y0, cells.y1))
    return _Worst(x0, x1, y0, y1, float(cells.circulation[row]), float(cells.density[row]))
