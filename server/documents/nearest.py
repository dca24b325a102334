"""Where in a list a value belongs. As in js/number.js."""

from __future__ import annotations

from bisect import bisect_right


def nearest(xs: list[float], value: float) -> int:
    """The row whose x is closest to ``value``; x is increasing."""
    high = min(max(bisect_right(xs, value), 1), len(xs) - 1)
    low = max(0, high - 1)
    return low if value - xs[low] <= xs[high] - value else high
