"""The sparkline of a card in the gallery, as SVG path data."""

from collections.abc import Iterator, Mapping
from itertools import groupby, pairwise
from typing import Any

from .svg_paths import simplified

_WIDTH, _HEIGHT, _MARGIN = 160, 72, 4
# The tolerance of the simplification, in units of the box.
_NEAR = 0.2
# A jump: a step or two that are higher than this share of the height, and so many times higher than those beside them.
_JUMP, _WIDEST, _STEEPER = 0.08, 2, 4

_Point = tuple[float, float]


def sparkline(thumbnail: Mapping[str, Any], field: str) -> str:
    """The path of ``field`` over ``x`` in a box of 160 by 72, broken at gaps and jumps.

    Forward and analytical share one scale, so that the curves can be laid over one another.
    """
    across = _Scale(thumbnail["x"], _MARGIN, _WIDTH - _MARGIN)
    heights = [y for name in ("forward", "analytical") for y in thumbnail[name] if y is not None]
    up = _Scale(heights, _HEIGHT - _MARGIN, _MARGIN)
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
