"""The column that forward would be if backward were its derivative. As in static/curves.js."""

from __future__ import annotations

from .section import Numbers, Section

UNSEEN, NOTHING = 1e-3, 1e-9
RIGHT = ("matches", "matches here")


def implied(section: Section) -> Numbers | None:
    """The column, None where there is none or where no eye can tell it from forward."""
    suggested, forward = section.columns.get("implied"), section.column("forward")
    if section.word in RIGHT or not suggested:
        return None
    values = [value for value in forward if value is not None]
    if not values:
        return None
    low, high = min(values), max(values)
    seen = max(UNSEEN * (high - low), NOTHING * max(abs(low), abs(high)))
    pairs = zip(suggested, forward, strict=False)
    apart = any(value is not None and not abs(value - (real or 0.0)) <= seen for value, real in pairs)
    return suggested if apart else None
