"""The time budget of a plane: how many points, cells of the curl test and pairs of elements there is time for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...runtime.arrays import Array
from ...runtime.plane import Plane
from ...runtime.timing import minimum_time

# Seconds that the points may take, and all together.
_POINTS, _ALL = 3.0, 4.5
# Points a side and cells a side of which as many are taken as there is time for, where each has calls of its own.
_SIDES, _CELLS = (17, 9, 5, 3), (8, 4, 2)
# Estimated calls: for the first probes, for a point, for a cell, for the curl test of another pair of elements; …
_FIXED, _POINT, _CELL, _PAIR = 250, 28, 60, 1000
# … for a line of points; and where all points share a call, in total and for each pair.
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


def plan_plane(plane: Plane, how: str, x: Array, y: Array, most: int, pairs: int) -> PlaneBudget:
    """What there is time for, of at most ``most`` points a side and of so many ``pairs``; ``how`` is its structure.

    Raises ``FunctionFailed``.
    """
    one = replace(plane, stacked=())

    def each(side: int) -> float:
        return _POINT * side * side if how == "one by one" else _LINE * side

    together = _SHARED + _SHARED_PAIR * pairs
    everything = _FIXED + each(most) + _CELL * _CELLS[0] ** 2 + _PAIR * pairs
    enough = _ALL / together if how == "together" else min(_POINTS / (_FIXED + each(most)), _ALL / everything)
    taken = minimum_time(lambda: one.forward(x[:1], y[:1]), enough)
    if how == "together":
        return PlaneBudget(most, None, together * taken <= _ALL, taken)
    sides = [most, *(side for side in _SIDES if side < most)]
    points = next((side for side in sides if (_FIXED + each(side)) * taken <= _POINTS), 0)
    if not points:
        # The fewest are worth a wait.
        points = sides[-1] if (_FIXED + each(sides[-1])) * taken <= _ALL else 0
    left = _ALL / taken - _FIXED - each(points)
    cells = next((count for count in _CELLS if _CELL * count * count <= left), 0)
    return PlaneBudget(points, cells, _CELL * cells * cells + _PAIR * pairs <= left, taken)
