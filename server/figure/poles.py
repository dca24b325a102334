"""Sections without the values at poles, or near them, which would dominate an axis. As in js/figure/ranges.js."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import pairwise
from math import inf

from ..documents.pole_rows import rows_beside, with_gaps
from .drawn_section import DrawnSection

# The neighbourhood of a pole or cusp: this share of the range, and at most this share of the distance to the next.
_NEAR, _BETWEEN = 0.03, 0.2


def without_pole_surroundings(section: DrawnSection) -> DrawnSection:
    """``section`` without the values near its poles and cusps, whose size depends on where the points happen to lie."""
    places = [mark.x for mark in section.marks if mark.kind in ("pole", "cusp")]
    apart = min((right - left for left, right in pairwise(places)), default=inf)
    near = min(_NEAR * (section.stop - section.start), _BETWEEN * apart)
    return _without(section, {row for row, x in enumerate(section.x) if any(abs(x - at) < near for at in places)})


def without_poles(section: DrawnSection) -> DrawnSection:
    """``section`` without its poles: without their marks, and with gaps in the rows beside them."""
    rows = rows_beside(section.x, (mark.x for mark in section.marks if mark.kind == "pole"))
    kept = tuple(mark for mark in section.marks if mark.kind != "pole")
    return replace(_without(section, rows), marks=kept)


def _without(section: DrawnSection, rows: Collection[int]) -> DrawnSection:
    if not rows:
        return section
    return replace(section, columns={name: with_gaps(column, rows) for name, column in section.columns.items()})
