"""The column that forward would be if backward were its derivative. As in js/figure/traces.js."""

from __future__ import annotations

from collections.abc import Mapping

Numbers = list[float | None]

UNSEEN, NOTHING = 1e-3, 1e-9
RIGHT = ("matches", "matches here")


def implied(word: str, columns: Mapping[str, Numbers | None]) -> Numbers | None:
    """The column by its name, None where there is none, where ``word`` says that all is right, or where no eye can tell
    it from forward."""
    suggested, forward = columns.get("implied"), columns.get("forward") or []
    values = [value for value in forward if value is not None]
    if word in RIGHT or not suggested or not values:
        return None
    low, high = min(values), max(values)
    seen = max(UNSEEN * (high - low), NOTHING * max(abs(low), abs(high)))
    pairs = zip(suggested, forward, strict=True)
    apart = any(value is not None and not abs(value - (real or 0.0)) <= seen for value, real in pairs)
    return suggested if apart else None
