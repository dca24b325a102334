"""SVG path data of curves and areas: clipped to the panel, broken at gaps, simplified within a tolerance; and of the
sparkline of a card in the gallery.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import inf
from typing import Any, cast

from .scene import Axis
from .traces import Layer

# Relative to the height of a panel: how far beyond it curves are drawn, and the tolerance of the simplification.
_MARGIN = 0.5
_FINE = 1.2e-4
_THIN = 2.5e-4  # thinner error bands are left out

_Point = tuple[float, float]


@dataclass(frozen=True)
class PathGrid:
    """Coordinates of a panel of ``width`` by ``height`` at ``left``, ``top``, rounded to ``digits``."""

    width: float
    height: float
    left: float = 0.0
    top: float = 0.0
    digits: int = 0

    def x(self, share: float) -> float:
        """The coordinate of a share of the width."""
        return _rounded(self.left + self.width * share, self.digits)

    def y(self, share: float) -> float:
        """The coordinate of a share of the height, counted from below."""
        return _rounded(self.top + self.height * (1 - share), self.digits)


def curve_path(layer: Layer, across: Axis, up: Axis, grid: PathGrid) -> str:
    """The path of a curve, empty where all of it lies outside the panel."""
    runs = (run for whole in _runs(layer, across, up) for run in _inside(whole))
    return "".join(_path(simplified(run), grid) for run in runs if len(run) > 1)


def area_path(layer: Layer, across: Axis, up: Axis, grid: PathGrid) -> str:
    """The path around the areas that a layer outlines, without those too thin to be seen."""
    halves = (_halves(_clamped(run)) for run in _runs(layer, across, up))
    seen = (pair for pair in halves if max(abs(one[1] - other[1]) for one, other in zip(*pair, strict=True)) > _THIN)
    return "".join(_path([*simplified(there), *simplified(back)[::-1]], grid) + "z" for there, back in seen)


def mark_positions(layer: Layer, across: Axis, up: Axis) -> list[_Point]:
    """The positions of marks, as shares of the panel; those outside it are left out."""
    points = (point for run in _runs(layer, across, up) for point in run)
    return [(x, y) for x, y in points if -1e-9 <= y <= 1 + 1e-9]


def _runs(layer: Layer, across: Axis, up: Axis) -> Iterator[list[_Point]]:
    """The unbroken pieces, as shares of the panel."""
    points = list(zip(across.shares(layer.x), up.shares(layer.y), strict=False))
    gaps = [row for row, (x, y) in enumerate(points) if x is None or y is None]
    for before, after in pairwise((-1, *gaps, len(points))):
        if after - before > 1:
            yield cast(list[_Point], points[before + 1 : after])


def _inside(run: list[_Point]) -> Iterator[list[_Point]]:
    """The pieces of a curve that are not far beyond the panel."""
    if all(-_MARGIN <= y <= 1 + _MARGIN for _, y in run):
        yield run
        return
    piece: list[_Point] = [run[0]] if _side(run[0]) == 0 else []
    for before, after in pairwise(run):
        sides = _side(before), _side(after)
        if sides[0] and sides[0] != sides[1]:
            piece = [_crossing(before, after, sides[0])]
        if sides[1] == 0:
            piece.append(after)
        elif sides[0] != sides[1]:
            yield [*piece, _crossing(before, after, sides[1])]
            piece = []
    if piece:
        yield piece


def _side(point: _Point) -> int:
    return (point[1] > 1 + _MARGIN) - (point[1] < -_MARGIN)


def _crossing(before: _Point, after: _Point, side: int) -> _Point:
    edge = 1 + _MARGIN if side > 0 else -_MARGIN
    part = (edge - before[1]) / (after[1] - before[1])
    return before[0] + part * (after[0] - before[0]), edge


def _clamped(run: list[_Point]) -> list[_Point]:
    return [(x, max(-_MARGIN, min(1 + _MARGIN, y))) for x, y in run]


def _halves(outline: list[_Point]) -> tuple[list[_Point], list[_Point]]:
    """An outline that goes there and comes back, both ways from left to right."""
    half = len(outline) // 2
    return outline[:half], outline[: half - 1 : -1]


def simplified(run: list[_Point], tolerance: float = _FINE) -> list[_Point]:
    """The run simplified to a polyline within the tolerance, by the cone of admissible slopes; x never decreases."""
    kept, last = [run[0]], run[0]
    left, base = last
    low, high = -inf, inf  # slopes of a line from the last point kept that passes all points since
    for point in run[1:]:
        width, rise = point[0] - left, point[1] - base
        if not low <= (rise / width if width > 0 else inf) <= high:
            kept.append(last)
            left, base = last
            low, high = -inf, inf
            width, rise = point[0] - left, point[1] - base
        if width > 0:
            least, most = (rise - tolerance) / width, (rise + tolerance) / width
            low, high = (low if low > least else least), (high if high < most else most)
        else:
            low, high = inf, -inf
        last = point
    return [*kept, last]


def _path(points: Iterable[_Point], grid: PathGrid) -> str:
    """Absolute at the first point, then from each to the next."""
    spots = [(grid.x(x), grid.y(y)) for x, y in points]
    steps = [(after[0] - before[0], after[1] - before[1]) for before, after in pairwise(spots)]
    moves = "".join(_pair(*step) for step in steps if step != (0, 0))
    return f"M{_pair(*spots[0]).lstrip()}" + (f"l{moves.lstrip()}" if moves else "")


def _rounded(value: float, digits: int) -> float:
    return round(value, digits) + 0.0


def _pair(x: float, y: float) -> str:
    return "".join(text if text.startswith("-") else f" {text}" for text in map(_shortest, (x, y)))


def _shortest(value: float) -> str:
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


_WIDTH, _HEIGHT, _AIR = 160, 72, 4
# The tolerance of the simplification, in units of the box.
_NEAR = 0.2
# A jump: a step or two that are higher than this share of the height, and so many times higher than those beside them.
_JUMP, _WIDEST, _STEEPER = 0.08, 2, 4


def sparkline(thumbnail: Mapping[str, Any], field: str) -> str:
    """The path of ``field`` over ``x`` in a box of 160 by 72, broken at gaps and jumps.

    Forward and analytical share one scale, so that the curves can be laid over one another.
    """
    across = _Scale(thumbnail["x"], _AIR, _WIDTH - _AIR)
    heights = [y for name in ("forward", "analytical") for y in thumbnail[name] if y is not None]
    up = _Scale(heights, _HEIGHT - _AIR, _AIR)
    rows = zip(thumbnail["x"], thumbnail[field], strict=False)
    path = []
    for drawn, run in groupby(rows, key=lambda row: row[1] is not None):
        if drawn:
            for points in _without_jumps([(across.place(x), up.place(y)) for x, y in run]):
                path.append("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in simplified(points, _NEAR)))
    return "".join(path)


def _without_jumps(points: list[_Point]) -> Iterator[list[_Point]]:
    """The pieces of a curve between its jumps."""
    heights = [abs(after[1] - before[1]) for before, after in pairwise(points)]
    start = end = 0
    for high, run in groupby(heights, key=lambda height: height > _JUMP * _HEIGHT):
        steps = list(run)
        beside = heights[max(end - 1, 0) : end] + heights[end + len(steps) : end + len(steps) + 1]
        if high and len(steps) <= _WIDEST and min(steps) > _STEEPER * max(beside, default=0.0):
            yield points[start : end + 1]
            start = end + len(steps)
        end += len(steps)
    yield points[start:]


class _Scale:
    """Maps the least of some values to ``first``, the greatest to ``last``; to the middle, if those are the same."""

    def __init__(self, values: list[float], first: float, last: float) -> None:
        self._low, high = min(values, default=0.0), max(values, default=0.0)
        self._width = high / 2 - self._low / 2  # in halves, because the whole may overflow
        self._first, self._last = first, last

    def place(self, value: float) -> float:
        share = (value / 2 - self._low / 2) / self._width if self._width > 0 else 0.5
        return self._first + share * (self._last - self._first)
