"""The time budget of a plane: how many points, cells of the curl test and pairs of elements there is time for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...runtime.arrays import Array
from ...runtime.call_cost import estimated_seconds
from ...runtime.plane import Plane

_POINTS_TIME, _ALL_TIME = 3.0, 4.5  # budget: seconds that the points may take, and all together
# budget: points a side and cells a side: as many as there is time for, where each has calls of its own.
_SIDES, _CELLS = (17, 9, 5, 3), (8, 4, 2)
# budget: estimated calls: for the first probes, for a point, for a cell, for the curl test of another pair of elements.
_FIXED, _POINT, _CELL, _PAIR = 250, 28, 60, 1000
# budget: estimated calls for a line of points; and where all points share a call, in total and for each pair.
_LINE, _SHARED, _SHARED_PAIR = 60, 70, 25


@dataclass(frozen=True)
class PlaneBudget:
    """So many ``points`` a side, 0 if no number is few enough, and ``cells`` of the potential test a side.

    No ``cells``: none is tested, and None: as many as usual. ``pairs`` says whether other pairs of elements are tested,
    ``seconds`` is what a call takes.
    """

    points: int
    cells: int | None
    pairs: bool
    seconds: float


def plan_plane(plane: Plane, structure: str, x: Array, y: Array, most: int, pairs: int) -> PlaneBudget:
    """What there is time for, of at most ``most`` points a side and of so many ``pairs``; ``structure`` is its.

    Raises ``FunctionFailed``.
    """
    single = replace(plane, joint=None)

    def calls(side: int) -> float:
        return _POINT * side * side if structure == "one by one" else _LINE * side

    together = _SHARED + _SHARED_PAIR * pairs
    taken = estimated_seconds(lambda: single.forward(x[:1], y[:1]))
    if structure == "together":
        return PlaneBudget(most, None, together * taken <= _ALL_TIME, taken)
    sides = [most, *(side for side in _SIDES if side < most)]
    points = next((side for side in sides if (_FIXED + calls(side)) * taken <= _POINTS_TIME), 0)
    if not points:
        # The fewest are worth a wait.
        points = sides[-1] if (_FIXED + calls(sides[-1])) * taken <= _ALL_TIME else 0
    left = _ALL_TIME / taken - _FIXED - calls(points)
    cells = next((count for count in _CELLS if _CELL * count * count <= left), 0)
    return PlaneBudget(points, cells, _CELL * cells * cells + _PAIR * pairs <= left, taken)
