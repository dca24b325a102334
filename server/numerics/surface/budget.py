"""The budget of a plane: how many points, cells of the curl test and pairs of elements there is time for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from ...runtime.arrays import Array
from ...runtime.batching import batched_plane
from ...runtime.call_cost import estimated_seconds
from ...runtime.plane import Plane
from ...runtime.section import Section
from ..formatting.numbers import format_number
from ..sampling.grid import POINTS_ONE_BY_ONE
from .curl import pair_count

_MAX_FOR_LARGE, _LARGE = 9, 4096  # budget: at most so many points a side if the tensors have more elements than this
_MAX_NUMBERS = 5_000_000  # budget: elements in all copies of the inputs, which take about a second
_POINTS_TIME, _ALL_TIME = 3.0, 4.5  # budget: seconds that the points may take, and all together
# budget: points a side and cells a side: as many as there is time for, where each has calls of its own.
_SIDES, _CELLS = (17, 9, 5, 3), (8, 4, 2)
# budget: estimated calls: for the first probes, for a point, for a cell, for the curl test of another pair of elements.
_FIXED, _POINT, _CELL, _PAIR = 250, 28, 60, 1000
# budget: estimated calls for a line of points; and where all points share a call, in total and for each pair.
_LINE, _SHARED, _SHARED_PAIR = 60, 70, 25
_SLOWEST = (
    "A call takes about {} ms, and the smallest surface needs hundreds of them: that would take too long. "
    "The curves show one element at a time."
)
_UNTESTED = "Whether what backward returns is the gradient of a function is not tried: that would take too long."


@dataclass(frozen=True)
class PlanePlan:
    """The numbers along both axes, with the notes on them; or the ``refusal`` where there is no time for a surface.

    ``cells`` a side are those of the potential test, 0 if it is left out, None for as many as usual. ``pairs`` says
    whether other pairs of elements are tested.
    """

    x: Array
    y: Array
    cells: int | None
    pairs: bool
    notes: tuple[str, ...] = ()
    refusal: str = ""


def plan_plane(
    along: Section, across: Section, axes: Callable[[int], tuple[Array, Array]], asked: int, grad_output: float
) -> PlanePlan:
    """What there is time for; ``axes`` gives the numbers along both for so many points a side, ``asked`` at most.

    Raises ``FunctionFailed``.
    """
    few = axes(min(asked, POINTS_ONE_BY_ONE))
    plane, pairs = batched_plane(along, across, *few, grad_output), pair_count(along, grad_output)
    single = replace(plane, joint=None)
    taken = estimated_seconds(lambda: single.forward(few[0][:1], few[1][:1]))
    milliseconds = format_number(float(f"{1000 * taken:.1g}"))  # to a digit, so that no run says something else
    most, reason = _most_points(plane, asked)
    points, cells, other = _within_time(plane, most, pairs, taken)
    if not points:
        return PlanePlan(*axes(asked), cells, other, refusal=_SLOWEST.format(milliseconds))
    x, y = axes(points)
    reason = f"A call takes about {milliseconds} ms" if points < most else reason
    notes = [f"{reason}, so only {y.size} × {x.size} of them are on the maps."] if points < asked else []
    return PlanePlan(x, y, cells, other, (*notes, *([_UNTESTED] if cells == 0 else [])))


def _most_points(plane: Plane, asked: int) -> tuple[int, str]:
    """The most points a side, of those ``asked`` for, that memory allows or that are worth their calls, and why."""
    size = max(math.prod(each.shape) for each in plane.along.op.inputs)
    alone = plane.structure == "one by one"
    most = POINTS_ONE_BY_ONE if alone else max(POINTS_ONE_BY_ONE, math.isqrt(_MAX_NUMBERS // size))
    reason = "Every point needs a call of its own" if alone else "The tensors are large"
    return min(asked, _MAX_FOR_LARGE if size > _LARGE else most), reason


def _within_time(plane: Plane, most: int, pairs: int, taken: float) -> tuple[int, int | None, bool]:
    """Points and cells a side, and whether there is time for the pairs, where a call takes so long."""
    if plane.joint:
        return most, None, (_SHARED + _SHARED_PAIR * pairs) * taken <= _ALL_TIME
    alone = plane.structure == "one by one"

    def calls(side: int) -> int:
        return _FIXED + (_POINT * side * side if alone else _LINE * side)

    sides = [most, *(side for side in _SIDES if side < most)]
    points = next((side for side in sides if calls(side) * taken <= _POINTS_TIME), 0)
    if not points:  # the fewest are worth a wait
        points = sides[-1] if calls(sides[-1]) * taken <= _ALL_TIME else 0
    left = _ALL_TIME / taken - (calls(points) if points else _FIXED)
    cells = next((count for count in _CELLS if _CELL * count * count <= left), 0)
    return points, cells, _CELL * cells * cells + _PAIR * pairs <= left
