"""A curve small enough for a gallery: the ``d`` of an SVG path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WIDTH, HEIGHT, MARGIN = 160, 72, 4


def sparkline(thumbnail: Mapping[str, Any], field: str) -> str:
    """The path of ``field`` over ``x`` in a box of 160 by 72, broken at gaps.

    Forward and analytical share one scale, so that the curves can be laid over one another.
    """
    across = _Scale(thumbnail["x"], MARGIN, WIDTH - MARGIN)
    heights = [y for name in ("forward", "analytical") for y in thumbnail[name] if y is not None]
    up = _Scale(heights, HEIGHT - MARGIN, MARGIN)
    path, drawing = [], False
    for x, y in zip(thumbnail["x"], thumbnail[field], strict=False):
        if y is not None:
            path.append(f"{'L' if drawing else 'M'}{across.place(x):.1f} {up.place(y):.1f}")
        drawing = y is not None
    return "".join(path)


class _Scale:
    """Puts the least of some values at ``first`` and the greatest at ``last``; halfway, if those are the same."""

    def __init__(self, values: list[float], first: float, last: float) -> None:
        self._low, high = min(values, default=0.0), max(values, default=0.0)
        self._width = high / 2 - self._low / 2  # in halves, because the whole may overflow
        self._first, self._last = first, last

    def place(self, value: float) -> float:
        share = (value / 2 - self._low / 2) / self._width if self._width > 0 else 0.5
        return self._first + share * (self._last - self._first)
