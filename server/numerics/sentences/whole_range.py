"""The result of the whole-range check, beyond the visible range, in one to three sentences."""

from __future__ import annotations

import numpy as np

from ...runtime.arrays import Interval
from ..formatting.numbers import format_distinct, format_number
from ..sampling.grid import Grid
from ..status import Status
from ..whole_range.check import WholeRangeCheck, outside_view
from .places import Names, join_words

_MOST = 3


def whole_range_sentences(wide: WholeRangeCheck, grid: Grid, names: Names) -> list[str]:
    """How far was looked, where backward differs out of sight with an example, and why no farther: 1 to 3 sentences."""
    if not wide.x.size:
        return []
    outside = outside_view(wide, grid)
    parts = [_differs(wide, outside, grid, names)] if outside else [_agrees(wide, grid, names)]
    return parts + _ends(wide, names)


def _agrees(wide: WholeRangeCheck, grid: Grid, names: Names) -> str:
    out = (wide.x < grid.start) | (wide.x > grid.stop)
    where = "Beyond this range" if out.any() else "From the least of all numbers to the largest"
    count = np.bincount(wide.status[out] if out.any() else wide.status, minlength=len(Status))
    if not count[Status.AGREES]:
        return f"{where} backward can nowhere be judged."
    right = "does as it is meant to" if names.claim == "surrogate" else "agrees with forward"
    if count[Status.UNDECIDED]:
        return f"{where} backward {right} wherever differences of forward can tell."
    far = ", as far as forward is finite" if count[Status.GAP] else "" if any(wide.ends) else ", as far as numbers go"
    return f"{where} backward {right}{far}."


def _differs(wide: WholeRangeCheck, outside: tuple[Interval, ...], grid: Grid, names: Names) -> str:
    places = [_place(wide, each, names) for each in outside[:_MOST]]
    more = len(outside) - len(places)
    where = join_words([*places, f"on {more} more intervals"] if more else places)
    row = _nearest(wide, grid)
    returned, right = wide.analytical[row], wide.numerical[row]
    example = f"at {names.wrt} = {format_number(wide.x[row])} it returns {format_distinct(returned, right)}"
    return f"Beyond this range backward differs {where}: {example}, where {format_distinct(right, returned)} is right."


def _nearest(wide: WholeRangeCheck, grid: Grid) -> int:
    """The accused point out of sight that is nearest to the visible range."""
    away = np.maximum(grid.start - wide.x, wide.x - grid.stop)
    return int(np.where((wide.status == Status.DIFFERS) & (away > 0), away, np.inf).argmin())


def _place(wide: WholeRangeCheck, interval: Interval, names: Names) -> str:
    low, high = interval
    # Where forward is no longer finite, there is no more to be wrong about.
    least, most = wide.finite if np.isfinite(wide.finite).all() else wide.reach
    below, above = low <= max(least, wide.reach[0]), high >= min(most, wide.reach[1])
    if below and above:
        return "everywhere"
    if below:
        return f"for {names.wrt} < {format_number(high)}"
    if above:
        return f"for {names.wrt} > {format_number(low)}"
    return f"for {format_number(low)} < {names.wrt} < {format_number(high)}"


def _ends(wide: WholeRangeCheck, names: Names) -> list[str]:
    below, above = wide.ends
    if below == above and below:
        where = f"below {_about(wide.reach[0])} and above {_about(wide.reach[1])}"
        return [f"Farther out, {where}, {_why(below)}."]
    found = []
    for why, side, limit in ((below, "Below", wide.reach[0]), (above, "Above", wide.reach[1])):
        if why:
            found.append(f"{side} {names.wrt} = {_about(limit)} {_why(why)}.")
    return found


def _why(why: str) -> str:
    return "it takes too long" if why == "slow" else f"it raises {why}"


def _about(limit: float) -> str:
    """A limit of the reach, which is not known to more than three places."""
    return format_number(float(f"{limit:.3g}"))
