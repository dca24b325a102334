"""Columns without what stands beside a pole: it is huge, and says nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from .nearest import nearest


def beside(xs: list[float], places: Iterable[float]) -> set[int]:
    """The rows closest to these places, and their neighbours."""
    return {nearest(xs, x) + step for x in places for step in (-1, 0, 1)}


def cut(column: Sequence[float | None], rows: Collection[int]) -> list[float | None]:
    """``column`` with a gap in each of these rows."""
    return [None if row in rows else value for row, value in enumerate(column)]
