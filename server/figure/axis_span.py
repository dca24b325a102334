"""The interval an axis shows: every number, air beyond, no zoom into rounding noise. As in js/figure/ranges.js."""

from __future__ import annotations

from collections.abc import Iterable

from .series import Numbers

AIR = 0.11
BEYOND = 0.5
NOISE = 1e-9
LEAST, MOST = 1e-290, 1e304  # plotly takes no longer range than 1.8e304

Span = tuple[float, float]


def span(columns: Iterable[Numbers], quiet: Iterable[Numbers], zero: bool = False, natural: float = 1.0) -> Span:
    """The ends of the axis for ``columns``.

    ``zero`` keeps 0 in sight; ``natural`` is the size below a billionth of which numbers count as 0. Of what the
    columns hold beyond those that are ``quiet``, no more is shown than half as much again.
    """
    unit = min(max(natural, LEAST), MOST)
    low, high = _within(_extent(columns) or (-unit, unit), _extent(quiet), zero)
    low, high = max(-MOST, min(MOST, low)), max(-MOST, min(MOST, high))
    if max(abs(low), abs(high)) <= NOISE * unit:
        low, high = -unit, unit
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    size = max(abs(low), abs(high))
    if high - low <= NOISE * size:
        low, high = low - size / 2, high + size / 2
    air = (high - low) * AIR
    return low - air, high + air


def _extent(columns: Iterable[Numbers]) -> Span | None:
    numbers = [value for column in columns for value in column if value is not None]
    return (min(numbers), max(numbers)) if numbers else None


def _within(everything: Span, quiet: Span | None, zero: bool) -> Span:
    if quiet is None:
        return everything
    low, high = (min(quiet[0], 0.0), max(quiet[1], 0.0)) if zero else quiet
    more = BEYOND * (high - low)
    seen = max(everything[0], low - more), min(everything[1], high + more)
    return seen if seen[0] <= seen[1] else everything
