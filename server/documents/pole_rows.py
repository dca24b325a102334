"""Rows of a column at and beside a pole, which are replaced by gaps: the numbers there are huge and carry nothing."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence


def nearest_row(xs: list[float], value: float) -> int:
    """The row whose x is closest to ``value``, by bisection; x is increasing."""
    high = min(max(bisect_right(xs, value), 1), len(xs) - 1)
    low = max(0, high - 1)
    return low if value - xs[low] <= xs[high] - value else high


def rows_beside(xs: list[float], places: Iterable[float]) -> set[int]:
    """The rows closest to these x, and their neighbours."""
    rows = {nearest_row(xs, x) + step for x in places for step in (-1, 0, 1)}
    return {row for row in rows if 0 <= row < len(xs)}


def with_gaps(column: Sequence[float | None], rows: Collection[int]) -> list[float | None]:
    """``column`` with a gap in each of these rows."""
    return [None if row in rows else value for row, value in enumerate(column)] if rows else [*column]
