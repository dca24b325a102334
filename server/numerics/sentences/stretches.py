"""Stretches of rows, and what to call the places where they begin and end."""

from __future__ import annotations

import numpy as np

from ...runtime.arrays import Mask
from ...runtime.section import Section
from ..curve.evaluation import Evaluation
from ..formatting.simplest import simplest
from ..verdict.intervals import runs
from .places import Names, intervals

# More stretches than these are not named one by one.
MOST_PLACES = 3


def stretches(rows: Mask, among: Mask) -> list[tuple[int, int]]:
    """The first and the last of each stretch of ``rows`` that is not divided by another of the rows ``among``."""
    judged = np.flatnonzero(among)
    return [(int(judged[first]), int(judged[last])) for first, last in runs(rows[judged])]


def where(rows: Mask, among: Mask, evaluation: Evaluation, names: Names) -> str:
    """The places of some of the rows ``among``, such as ``for x < −1 and for x > 1``."""
    x = evaluation.rows.x
    found = []
    for first, last in stretches(rows, among):
        before, after = np.flatnonzero(among[:first]), np.flatnonzero(among[last + 1 :])
        if first == last and before.size and after.size:
            found.append((float(x[first]), float(x[first])))
            continue
        low = _border(evaluation, int(before[-1]), first) if before.size else float(x[0])
        high = _border(evaluation, last, last + 1 + int(after[0])) if after.size else float(x[-1])
        found.append((low, high))
    return intervals(found, evaluation, names)


def names_of(section: Section) -> Names:
    """What the page calls the elements of a section."""
    return Names(
        _element(section.wrt, section.wrt_index),
        _element(section.of, section.of_index),
        section.op.claim if section.order == 1 else "exact",
        section.sweeps_parameter,
    )


def _element(name: str, index: tuple[int, ...]) -> str:
    return name + (f"[{','.join(map(str, index))}]" if index else "")


def _border(evaluation: Evaluation, one: int, other: int) -> float:
    """Where something changes between two rows: at a special point, at an edge of backward, or at a simple number."""
    at = evaluation.rows
    low, high = float(at.x[one]), float(at.x[other])
    known = [each.x for each in evaluation.special if low <= each.x <= high]
    if known:
        return known[0]
    below, above = np.flatnonzero(at.below[one : other + 1]), np.flatnonzero(at.above[one : other + 1])
    if below.size and above.size:
        low, high = float(at.x[one + below[0]]), float(at.x[one + above[-1]])
    return simplest(low, high)
