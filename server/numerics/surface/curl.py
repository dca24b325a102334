"""The curl test (potential test): what backward returns is a gradient only if it has no circulation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import EPSILON, Array, Mask, evenly_chosen
from ...runtime.batching import batched_plane
from ...runtime.failure import FunctionFailed
from ...runtime.plane import Plane
from ...runtime.reference import reference_of
from ...runtime.section import Section
from ..sentences.names import element_name
from .circulation import Rectangles, VectorField, scattered_rectangles

# budget: cells in each direction, and those where each point needs a call of its own (``expensive``).
_CELLS, _CELLS_EXPENSIVE = 48, 8
_FEW_CELLS = 4  # budget: with fewer cells a side than this a single one with circulation is looked at closer
_MAX_SUSPECTS, _MAX_SUSPECTS_EXPENSIVE = 192, 4  # budget: the most cells with circulation that are looked at closer
# budget: a closer look are so many rectangles in each direction; sample: over so many times their size.
_ACROSS, _ACROSS_EXPENSIVE, _SPREAD = 4, 3, 32
# sample: rectangles have this share of the size of a cell, in double and in short precision, and at last a still
# smaller one, in which a field of many steps does not turn.
_SHARE, _SHARE_SHORT, _LEAST_SHARE = 2.0**-8, 2.0**-2, 2.0**-14
# pattern: a curl if this share of them turns the same way, and their mean is so many times their scatter.
_MIN_ALIKE, _MIN_SIGNAL = 0.7, 6.0
# bound: a rectangle whose rounding hides more than this share of what the field is along any edge tells nothing.
_MAX_ROUNDING = 1e-2
_MAX_ELEMENTS = 6  # budget: of more elements than these no pair is tested
# budget: cells in each direction, and those where each point needs a call of its own, of the test of a pair.
_PAIR_CELLS, _PAIR_CELLS_EXPENSIVE = 12, 4


@dataclass(frozen=True)
class _WorstPlace:
    """Where the field turns most, and by how much: the circulation for each unit of area."""

    x: float
    y: float
    curl: float


@dataclass(frozen=True)
class CurlTest:
    """Whether a field is the gradient of a function: ``holds`` is None where nothing could be judged.

    ``judged`` is the share of the plane that could be, ``turning`` the share in which there is a curl.
    """

    holds: bool | None
    judged: float
    turning: float
    worst: _WorstPlace | None


NOT_TESTED = CurlTest(None, 0.0, 0.0, None)  # unit: nothing is known, of no part of the plane


@np.errstate(all="ignore")
def run_curl_test(field: VectorField, x: Array, y: Array, expensive: bool, count: int | None) -> CurlTest:
    """The circulation of ``field`` over the plane from end to end of ``x`` and ``y``, in each of ``count``² cells.

    ``expensive`` says that few points should be asked for. Only the field is asked, never forward. Raises
    ``FunctionFailed``. Source: the theorem of G. Green (1828).
    """
    count = count or (_CELLS_EXPENSIVE if expensive else _CELLS)
    corners = (
        each.ravel() for each in np.meshgrid(*(np.linspace(ends[0], ends[-1], count + 1)[:-1] for ends in (x, y)))
    )
    cells = *corners, *(np.full(count * count, (ends[-1] - ends[0]) / count) for ends in (x, y))
    share, seen = _SHARE, scattered_rectangles(field, cells, 1, _SHARE)
    if seen.precision > EPSILON:
        share, seen = _SHARE_SHORT, scattered_rectangles(field, cells, 1, _SHARE_SHORT)
    judgeable = np.isfinite(seen.circulation) & (seen.allowed <= _MAX_ROUNDING * seen.strength)
    suspect = judgeable & seen.turns(seen.allowed)
    limit = _MAX_SUSPECTS_EXPENSIVE if expensive else _MAX_SUSPECTS
    some = evenly_chosen(_worst_first(seen.curl, suspect), limit if count >= _FEW_CELLS else 1)
    if not judgeable.any():
        return NOT_TESTED
    turns, curl = _looked_at_closer(field, tuple(each[some] for each in cells), seen, some, share, expensive)
    if not turns.any():
        return CurlTest(True, float(judgeable.mean()), 0.0, None)
    row = int(np.where(turns, np.abs(curl), -1.0).argmax())
    worst = _WorstPlace(float(seen.x[some[row]]), float(seen.y[some[row]]), float(curl[row]))
    return CurlTest(False, float(judgeable.mean()), float(turns.mean() * suspect.mean()), worst)


def _worst_first(curl: Array, suspect: Mask) -> NDArray[np.intp]:
    """The places of what is suspect, by the size of its curl."""
    rows = np.flatnonzero(suspect)
    return rows[np.argsort(-np.abs(curl[rows]), kind="stable")]


def _looked_at_closer(
    field: VectorField,
    cells: tuple[Array, ...],
    seen: Rectangles,
    some: NDArray[np.intp],
    share: float,
    expensive: bool,
) -> tuple[Mask, Array]:
    """In which of ``some`` cells there is a curl around what was ``seen``, and how large it is.

    A point around which forward jumps (as an angle does) and lines along which it does (as a gate) keep circulation in
    that one place, and noise turns every way.
    """
    if not some.size:
        return np.zeros(0, bool), np.zeros(0)
    count, reach = _ACROSS_EXPENSIVE if expensive else _ACROSS, min(1.0, _SPREAD * share)
    (x, y, width, height), half = cells, reach / 2
    x = np.clip(seen.x[some] - half * width, x, x + (1 - reach) * width)
    y = np.clip(seen.y[some] - half * height, y, y + (1 - reach) * height)
    areas = x, y, reach * width, reach * height
    around = scattered_rectangles(field, areas, count, share / reach)
    curl, beyond = (each.reshape(count * count, -1) for each in (around.curl, around.turns(around.allowed)))
    alike = (beyond & (np.sign(curl) == np.sign(seen.curl[some]))).mean(axis=0) >= _MIN_ALIKE
    mean = np.nanmean(curl, axis=0)
    turns = alike & (np.abs(mean) > _MIN_SIGNAL * np.nanstd(curl, axis=0) / count)
    if turns.any():  # the field may be one of many steps, on each of which it does not turn
        finest = scattered_rectangles(field, areas, count, _LEAST_SHARE)
        least = finest.allowed if seen.precision == EPSILON else 0.0  # of few digits rounding is all there is so close
        turns &= finest.turns(least).reshape(curl.shape).mean(axis=0) >= _MIN_ALIKE
    return turns, mean


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
    worst: _WorstPlace | None


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
