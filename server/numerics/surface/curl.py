"""The curl test (potential test): what backward returns is a gradient only if it has no circulation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product

import numpy as np

from ...runtime.arrays import EPSILON, Array, Mask, evenly_chosen
from ...runtime.batching import batched_plane
from ...runtime.failure import FunctionFailed
from ...runtime.plane import Plane
from ...runtime.reference import reference_of
from ...runtime.section import Section
from ..differentiation.noise import relative_precision
from ..sentences.places import element_name
from .circulation import (
    RECTANGLES_ACROSS,
    Rectangles,
    VectorField,
    cells_with_curl,
    circulation_around,
    grid_rectangles,
    subdivide,
)

# budget: cells in each direction, and those where each point needs a call of its own (``expensive``).
_CELLS, _CELLS_EXPENSIVE = 48, 8
_FEW_CELLS = 4  # budget: with fewer cells a side than this a single one with circulation is examined for a curl
_MAX_SUSPECTS, _MAX_SUSPECTS_EXPENSIVE = 192, 4  # budget: the most cells with circulation that are examined for a curl
# sample: the cells begin so far inside the plane, so that none of their edges lies on a line that means something.
_INSET = (0.0382, 0.0295)
# budget: at most _MAX_STEEP cells in which the field is too steep for the quadrature are cut, _PARTS times each way.
_MAX_STEEP, _PARTS = 96, 6
# bound: a cell whose rounding hides more than this share of what the field is along its edges tells nothing.
_MAX_ROUNDING = 1e-2
_MAX_ELEMENTS = 6  # budget: of more elements than these no pair is tested
# budget: cells in each direction, and those where each point needs a call of its own, of the test of a pair.
_PAIR_CELLS, _PAIR_CELLS_EXPENSIVE = 12, 4


@dataclass(frozen=True)
class _WorstRectangle:
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
    worst: _WorstRectangle | None


NOT_TESTED = CurlTest(None, 0.0, 0.0, None)  # unit: nothing is known, of no part of the plane


@np.errstate(all="ignore")
def run_curl_test(field: VectorField, x: Array, y: Array, expensive: bool, count: int | None = None) -> CurlTest:
    """The circulation of ``field`` over the plane from end to end of ``x`` and ``y``, around ``count``² cells.

    ``expensive`` says that few points should be asked for. Only the field is asked, never forward. Raises
    ``FunctionFailed``. Source: the theorem of G. Green (1828).
    """
    count = count or (_CELLS_EXPENSIVE if expensive else _CELLS)
    across, up = (
        np.linspace(ends[0] + off / RECTANGLES_ACROSS, ends[-1] - off / (RECTANGLES_ACROSS + 1), count + 1)
        for ends, off in ((x, _INSET[0] * (x[-1] - x[0])), (y, _INSET[1] * (y[-1] - y[0])))
    )
    precision = _field_precision(field, across, up)
    cells = grid_rectangles(field, across, up, precision)
    whole = cells.area.sum()
    if not expensive:
        steep = np.isfinite(cells.circulation) & ~_judgeable(cells)
        some = np.flatnonzero(steep)[np.argsort(-cells.strength[steep], kind="stable")[:_MAX_STEEP]]
        if some.size:
            cells = cells.without(some).joined(circulation_around(field, *subdivide(cells, some, _PARTS), precision))
    judgeable = _judgeable(cells)
    suspect = judgeable & (np.abs(cells.circulation) > cells.allowed)
    limit = _MAX_SUSPECTS_EXPENSIVE if expensive else _MAX_SUSPECTS
    limit, some = limit if count >= _FEW_CELLS else 1, np.flatnonzero(suspect)
    if some.size > limit:  # those with the most circulation, and as many others from all over
        worst_first = some[np.argsort(-np.abs(cells.circulation[some]), kind="stable")]
        others = evenly_chosen(some, limit - limit // 2)
        some = np.unique(np.concatenate((worst_first[: limit // 2], others)))
    real = some[cells_with_curl(field, cells, some, precision, expensive)] if some.size else some
    judged = float(cells.area[judgeable].sum() / whole)
    if not judged:
        return NOT_TESTED
    if not real.size:
        return CurlTest(True, judged, 0.0, None)
    turning = cells.area[real].sum() / cells.area[some].sum() * cells.area[suspect].sum()
    row = real[np.abs(cells.circulation[real]).argmax()]
    sides = cells.x0, cells.x1, cells.y0, cells.y1
    worst = _WorstRectangle(*(float(each[row]) for each in (*sides, cells.circulation, cells.density)))
    return CurlTest(False, judged, float(turning / whole), worst)


def _judgeable(cells: Rectangles) -> Mask:
    """Which cells say something: what they may turn by rounding is little beside the field, or there is no field."""
    with np.errstate(invalid="ignore"):
        return np.isfinite(cells.circulation) & (cells.allowed <= _MAX_ROUNDING * cells.strength)


def _field_precision(field: VectorField, x: Array, y: Array) -> float:
    """Half a unit in the last place of what the field carries along a line in either direction."""
    s, t = float(x[x.size // 2]), float(y[y.size // 2])

    def of(along: Array, component: int) -> float:
        def ask(points: Array) -> Array:
            held = np.full(points.size, t if along is x else s)
            return field(points, held)[component] if along is x else field(held, points)[component]

        return relative_precision(ask, along, ask(along))

    return max(EPSILON, *(of(along, component) for along in (x, y) for component in (0, 1)))


def field_components(plane: Plane, grad_output: float, s: Array, t: Array) -> tuple[Array, Array]:
    """The two components of the field; 0 where the output carries no gradient. Raises ``FunctionFailed``."""
    field = plane.backward(s, t, grad_output)
    first, second = (np.zeros(s.size) if each is None else each for each in field.both)
    return first, second


@dataclass(frozen=True)
class _Pair:
    """Two elements of the inputs by name, and whether their field is a gradient."""

    wrt: str
    wrt2: str
    holds: bool | None
    worst: _WorstRectangle | None


def run_curl_tests(section: Section, grad_output: float) -> tuple[_Pair, ...]:
    """The test for all pairs of elements over their domains, everything else held; empty if there are many elements.

    Nothing is raised: of a pair at which the Function fails nothing is known.
    """
    inputs = section.op.inputs
    if not pair_count(section, grad_output):
        return ()
    elements = [
        (each.name, index if math.prod(each.shape) != 1 else (), each.domain)
        for each in inputs
        for index in product(*map(range, each.shape))
    ]
    pairs = []
    for (first, first_index, x), (second, second_index, y) in combinations(elements, 2):
        along = section.alone(wrt=first, wrt_index=first_index)
        across = section.alone(wrt=second, wrt_index=second_index)
        found = _test_pair(along, across, x, y, grad_output)
        names = element_name(first, first_index), element_name(second, second_index)
        pairs.append(_Pair(*names, found.holds, found.worst))
    return tuple(pairs)


def pair_count(section: Section, grad_output: float) -> int:
    """How many pairs there are to test, 0 where there are too many elements."""
    elements = sum(math.prod(each.shape) for each in section.op.inputs)
    return math.comb(elements, 2) if elements <= _MAX_ELEMENTS and grad_output != 0 else 0


def _test_pair(
    along: Section, across: Section, x: tuple[float, float], y: tuple[float, float], grad_output: float
) -> CurlTest:
    s, t = np.linspace(*x, _PAIR_CELLS + 1), np.linspace(*y, _PAIR_CELLS + 1)
    try:
        along = reference_of(along, s, grad_output).alone()
        across = replace(along, wrt=across.wrt, wrt_index=across.wrt_index)
        plane = batched_plane(along, across, s, t, grad_output)
        count = _PAIR_CELLS_EXPENSIVE if plane.expensive else _PAIR_CELLS
        return run_curl_test(partial(field_components, plane, grad_output), s, t, plane.expensive, count)
    except FunctionFailed:
        return NOT_TESTED
