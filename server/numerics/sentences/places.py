"""Ranges, intervals and points in words, with the names that the op gives its tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...protocol.listed import listed
from ...runtime.arrays import Interval, Mask, unbroken_runs
from ..curve.evaluation import Evaluation
from ..formatting.numbers import format_number, simplest_number
from ..status import JUDGED, Status
from ..tolerance import NEARLY_ALL
from ..verdict.curve_judge import Comparison
from ..verdict.verdict import Verdict, judged_curve
from .names import MOST_NAMED, Names

_LOCATED = 2e-8  # bound: of the range; beside a kink, which is where it differs most, an edge is known no better


def describe_range(evaluation: Evaluation, names: Names) -> str:
    """The range that was looked at."""
    grid = evaluation.grid
    return f"{format_number(grid.start, grid.span)} ≤ {names.wrt} ≤ {format_number(grid.stop, grid.span)}"


def describe_finite_range(evaluation: Evaluation, names: Names) -> str:
    """Where in the range there was something to look at."""
    if evaluation.hurried:
        return f"where it was looked at on {describe_range(evaluation, names)}"
    if (np.isfinite(evaluation.forward) | evaluation.rows.gap).all():
        return f"on all of {describe_range(evaluation, names)}"
    return f"wherever {names.forward} is finite on {describe_range(evaluation, names)}"


def describe_intervals(intervals: Sequence[Interval], evaluation: Evaluation, names: Names) -> str:
    """Up to three of some intervals, and how many more."""
    stretches, points = unbroken_stretches(intervals)
    phrases = []
    for low, high in stretches[:MOST_NAMED]:
        stretch = describe_stretch((low, high), evaluation, names)
        if not stretch:
            but = f" but {describe_meetings(points, evaluation, names)}" if points else ""
            return f"anywhere on {describe_range(evaluation, names)}{but}"
        phrases.append(f"{'at' if low == high else 'for'} {stretch}")
    more = len(stretches) - len(phrases)
    where = listed([*phrases, f"on {more} more intervals"] if more > 0 else phrases)
    return f"{where} except {describe_meetings(points, evaluation, names)}" if points else where


def few_points(evaluation: Evaluation, compared: Comparison) -> str:
    """How many of the points say something, as ``12 of 401 points``; empty where nearly all do."""
    judged, at = compared.count(*JUDGED), evaluation.rows
    judgeable = int((np.isfinite(evaluation.forward) & ~at.gap & ~at.below & ~at.above).sum())
    judgeable = evaluation.grid.count if evaluation.hurried else judgeable
    return f"{judged} of {judgeable} points" if judged < NEARLY_ALL * judgeable else ""


def describe_stretch(interval: Interval, evaluation: Evaluation, names: Names) -> str:
    """One interval as ``x < 1``, or ``x = 1``; empty if it is all of the range."""
    (low, high), (left, right) = interval, (describe_point(each, evaluation) for each in interval)
    first, last = (evaluation.grid.start, evaluation.grid.stop) if evaluation.hurried else evaluation.rows.x[[0, -1]]
    before, after = low <= first, high >= last
    if before and after:
        return ""
    if low == high:
        return f"{names.wrt} = {left}"
    if before:
        return f"{names.wrt} < {right}"
    return f"{names.wrt} > {left}" if after else f"{left} < {names.wrt} < {right}"


def unbroken_stretches(intervals: Sequence[Interval]) -> tuple[list[Interval], list[float]]:
    """What intervals cover, taken together where two of them meet, and the single points at which they do."""
    stretches: list[Interval] = []
    points = []
    for low, high in intervals:
        if stretches and stretches[-1][1] == low:
            points.append(low)
            low = stretches.pop()[0]
        stretches.append((low, high))
    return stretches, points


def describe_meetings(points: Sequence[float], evaluation: Evaluation, names: Names) -> str:
    """The single points at which intervals meet: named, or counted where they are many."""
    if len(points) > MOST_NAMED:
        return f"at {len(points)} points"
    return f"at {listed([f'{names.wrt} = {describe_point(each, evaluation)}' for each in points])}"


def describe_point(x: float, evaluation: Evaluation) -> str:
    """A point, with the digits that tell it from its neighbours in the range; 0, where no place is known so well."""
    rounding = 8 * float(np.finfo(np.float64).eps) * max(abs(evaluation.grid.start), abs(evaluation.grid.stop))
    unknown = max(rounding, _LOCATED * evaluation.grid.span)
    return format_number(0.0 if abs(x) <= unknown else x, evaluation.grid.span)


def subgradient_places(evaluation: Evaluation, verdict: Verdict) -> dict[str, int]:
    """The kinks at which backward returns a subgradient, and of rows there the one whose two slopes are most unlike."""
    slopes, places = judged_curve(evaluation, verdict).slopes, dict[str, int]()
    bend = np.abs(slopes.right - slopes.left)
    for row in np.flatnonzero(verdict.against.status == Status.SUBGRADIENT).tolist():
        place = describe_point(float(evaluation.rows.x[row]), evaluation)
        places[place] = max(places.get(place, row), row, key=bend.__getitem__)
    return places


def runs_among(rows: Mask, among: Mask) -> list[tuple[int, int]]:
    """The first and the last of each stretch of ``rows`` that is not divided by another of the rows ``among``."""
    judged = np.flatnonzero(among)
    return [(int(judged[first]), int(judged[last])) for first, last in unbroken_runs(rows[judged])]


def describe_rows(rows: Mask, among: Mask, evaluation: Evaluation, names: Names, differs: Sequence[Interval]) -> str:
    """The places of some of the rows ``among``, such as ``for x < −1 and for x > 1``.

    ``differs`` are the intervals in which backward does, whose edges are known better than the rows tell.
    """
    edges = [edge for interval in differs for edge in interval]
    x = evaluation.rows.x
    intervals = []
    for first, last in runs_among(rows, among):
        before, after = np.flatnonzero(among[:first]), np.flatnonzero(among[last + 1 :])
        if first == last and before.size and after.size:
            intervals.append((float(x[first]), float(x[first])))
            continue
        low = _border(evaluation, edges, int(before[-1]), first) if before.size else float(x[0])
        high = _border(evaluation, edges, last, last + 1 + int(after[0])) if after.size else float(x[-1])
        intervals.append((low, high))
    return describe_intervals(intervals, evaluation, names)


def _border(evaluation: Evaluation, edges: Sequence[float], one: int, other: int) -> float:
    """Where something changes between two rows: at a special point, at an edge of backward, or at a simple number."""
    rows = evaluation.rows
    low, high = float(rows.x[one]), float(rows.x[other])
    located = [each for each in (*(point.x for point in evaluation.special), *edges) if low <= each <= high]
    if located:
        return located[0]
    below, above = np.flatnonzero(rows.below[one : other + 1]), np.flatnonzero(rows.above[one : other + 1])
    if below.size and above.size:
        low, high = float(rows.x[one + below[0]]), float(rows.x[one + above[-1]])
    return simplest_number(low, high)
