"""The nearest range outside the drawn one in which backward differs. As in js/figure/verdict.js."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..url.numbers import LARGEST

_FAR = 3  # ranges away; beyond, the new range no longer includes the present one


def range_out_of_view(answer: dict[str, Any]) -> tuple[float, float] | None:
    """A range that shows the nearest difference outside the one drawn.

    None where there is none, or none within the numbers that an address allows.
    """
    if answer["verdict"]["word"] != "matches here":
        return None
    start, stop = answer["start"], answer["stop"]
    found = _ends(answer["wide"]["intervals"] if answer["wide"] else (), start, stop)
    ends = [each for each in found if abs(each[1]) < LARGEST]
    if not ends:
        return None
    away, at, right = min(ends)
    more = max((stop - start) / 2, abs(at) / 2)
    far = away > _FAR * (stop - start)
    low, high = (at - more if far else start, at + more) if right else (at - more, at + more if far else stop)
    low, high = max(low, -LARGEST), min(high, LARGEST)
    return _tidy(low, high - low), _tidy(high, high - low)


def _ends(intervals: Any, start: float, stop: float) -> Iterator[tuple[float, float, bool]]:
    """The nearer end of every interval outside the range: its distance, its x, and whether it lies to the right."""
    for low, high in intervals:
        if high is None or high > stop:
            at = stop if low is None else max(low, stop)
            yield at - stop, at, True
        if low is None or low < start:
            at = start if high is None else min(high, start)
            yield start - at, at, False


def _tidy(value: float, span: float) -> float:
    """``value`` rounded where a thousandth of ``span`` can no longer be seen."""
    unit = 10.0 ** math.floor(math.log10(span / 500))
    return float(f"{math.floor(value / unit + 0.5) * unit:.12g}")
