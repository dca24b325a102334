"""The kink and jump lines of forward over a plane, at the points of the grid and, by bisection, between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Array, Mask, evenly_chosen, largest_magnitude
from ..differentiation.finite_differences import PointKind, Slopes
from ..tolerance import CLEARLY, NEARLY_ALL, NEGLIGIBLE
from .axes import PlaneGrid

# budget: steps of the bisection between two points, and the most kinks or jumps located along each axis.
_BISECTIONS, _MAX_LINES, _MAX_LINES_EXPENSIVE = 24, 512, 24
# sample: the distance from a kink, as a share of the grid step, at which its one-sided slopes are compared.
_SLOPE_DISTANCE = 1 / 16
# sample: forward jumps if over this share of the axis it changes _RATIO (a pattern) times as much as any slope allows.
_JUMP_DISTANCE, _RATIO = 1e-6, 100.0


@dataclass(frozen=True)
class SingularLines:
    """The points (x, y) of ridges, ``jump`` where forward jumps there and does not only bend.

    ``columns`` and ``rows`` are the x and the y of whole lines of the grid that are ridges.
    """

    x: Array
    y: Array
    jump: Mask
    columns: tuple[float, ...]
    rows: tuple[float, ...]


@np.errstate(all="ignore")
def find_singular_lines(ground: PlaneGrid, slopes: tuple[Slopes, Slopes]) -> SingularLines:
    """The ridges of a forward that has these slopes along either axis; raises ``FunctionFailed``."""
    s, t = ground.points
    jump = np.logical_or(*(_at_jumps(ground, axis, each) for axis, each in enumerate(slopes)))
    bent = [np.isin(each.kind, (PointKind.KINK, PointKind.JUMP)) for each in slopes]
    singular = bent[0] | bent[1]
    x, y, jumps = [s[singular]], [t[singular]], [jump[singular]]
    for axis in (0, 1):
        at, rows, jump_there = _between_points(ground, axis, slopes[axis].value)
        x.append(at if axis == 0 else s[rows])
        y.append(at if axis == 1 else t[rows])
        jumps.append(jump_there)
    columns = ground.x[bent[0][ground.lines(0)].mean(axis=0) >= NEARLY_ALL]
    lines = ground.y[bent[1][ground.lines(0)].mean(axis=1) >= NEARLY_ALL]
    return SingularLines(
        np.concatenate(x), np.concatenate(y), np.concatenate(jumps), tuple(columns.tolist()), tuple(lines.tolist())
    )


def _at_jumps(ground: PlaneGrid, axis: int, slopes: Slopes) -> Mask:
    """Where forward jumps by more than it rises beside it: a kink that lies next to a point may seem to."""
    jump = slopes.kind == PointKind.JUMP
    rows, ends = np.flatnonzero(jump), ground.axis(axis)
    if rows.size:
        at, ask, gap = ground.points[axis][rows], ground.ask(axis), _JUMP_DISTANCE * float(ends[-1] - ends[0])
        jump[rows] = np.abs(ask(at + gap, rows) - ask(at - gap, rows)) > _RATIO * gap * largest_magnitude(slopes.value)
    return jump


def _between_points(ground: PlaneGrid, axis: int, slope: Array) -> tuple[Array, NDArray[np.intp], Mask]:
    """Ridges between neighbours along an axis: where, the point before each, and whether forward jumps there."""
    lines, at, ask = ground.lines(axis), ground.points[axis], ground.ask(axis)
    before, steep = _turning_cells(ground.values[lines], slope[lines], at[lines])
    limit = _MAX_LINES_EXPENSIVE if ground.plane.expensive else _MAX_LINES
    rows, after = (evenly_chosen(each, limit) for each in (lines[:, :-1][before], lines[:, 1:][before]))
    if not rows.size:
        return np.empty(0), rows, np.empty(0, bool)
    low, high, left, right = at[rows], at[after], ground.values[rows], ground.values[after]
    width, turn = high - low, np.abs(slope[after] - slope[rows])
    off = np.abs(right - left - width * slope[rows])
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        value = ask(middle, rows)
        from_left = np.abs(value - left - slope[rows] * (middle - low))
        left_side = from_left <= np.abs(value - right - slope[after] * (middle - high))
        low, left = np.where(left_side, middle, low), np.where(left_side, value, left)
        high, right = np.where(left_side, high, middle), np.where(left_side, right, value)
    bends = []
    for near in (_SLOPE_DISTANCE * width, _SLOPE_DISTANCE**2 * width):
        bends.append(np.abs((ask(high + near, rows) - right) - (left - ask(low - near, rows))) / near)
    # What is only curved bends less the closer one looks.
    bent = (np.minimum(*bends) > turn / 2) & (bends[1] > bends[0] / 2) & (turn > steep)
    jump = np.abs(right - left) > off / 2
    real = np.isfinite(left + right) & np.where(jump, np.abs(right - left) > steep * width, bent)
    return low[real], rows[real], jump[real]


def _turning_cells(values: Array, slope: Array, at: Array) -> tuple[Mask, float]:
    """Between which neighbours in each row the slope turns, or forward rises, as nowhere else near; how much counts."""
    if values.shape[1] < 4:
        return np.zeros((len(values), values.shape[1] - 1), bool), 0.0
    mean = np.diff(values, axis=1) / np.diff(at, axis=1)
    turn, rise = np.abs(np.diff(slope, axis=1)), np.abs(mean - (slope[:, :-1] + slope[:, 1:]) / 2)
    least = NEGLIGIBLE * max(largest_magnitude(slope), largest_magnitude(mean))
    return _stands_out(turn, least) | _stands_out(rise, least), least


def _stands_out(size: Array, least: float) -> Mask:
    """What is many times as large as on either side of it."""
    padded = np.pad(size, ((0, 0), (1, 1)))
    return (size > least) & (size > CLEARLY * padded[:, :-2]) & (size > CLEARLY * padded[:, 2:])
