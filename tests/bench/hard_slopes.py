"""Fifteen hard slopes: how far off each way to a derivative is, and how often its own error bound is too small."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import jacobi
import numdifftools
import numpy as np
import scipy.differentiate
from hard_slope_table import HARD_SLOPES, HardSlope, MeasuredSlope
from report import Report, Table, Target

Differentiator = Callable[[HardSlope], tuple[float, float]]
OUR_NAME = "**Gradloupe**"


def _central(step: float) -> Differentiator:
    def differentiator(hard: HardSlope) -> tuple[float, float]:
        above, below = hard.forward(np.array([hard.at + step, hard.at - step]))
        return (above - below) / (2 * step), np.nan

    return differentiator


def _jacobi(hard: HardSlope) -> tuple[float, float]:
    value, error = jacobi.jacobi(lambda x: float(hard.forward(x)), hard.at)
    return float(value), float(error)


def _numdifftools(hard: HardSlope) -> tuple[float, float]:
    found = numdifftools.Derivative(hard.forward, full_output=True)(hard.at)
    return float(found.estimate), float(found.error_estimate)


def _scipy(hard: HardSlope) -> tuple[float, float]:
    found = scipy.differentiate.derivative(hard.forward, hard.at)
    return float(found.df), float(found.error)


PEERS: dict[str, Differentiator] = {
    "h = 1e-6 (gradcheck)": _central(1e-6),
    "h = 1e-4 (JAX)": _central(1e-4),
    "scipy.differentiate": _scipy,
    "numdifftools": _numdifftools,
    "jacobi": _jacobi,
}


def measure() -> Report:
    """The table of hard slopes, and the bounds that are too small."""
    found = {OUR_NAME: [each.measured() for each in HARD_SLOPES]} | {
        name: [_found(each, differentiator) for each in HARD_SLOPES] for name, differentiator in PEERS.items()
    }
    rows = [
        (hard.name, hard.why, *(_cell(each) for each in row))
        for hard, *row in zip(HARD_SLOPES, *found.values(), strict=True)
    ]
    rows.append(
        ("**median**", "", *(f"**{np.median([each.off for each in column]):.0e}**" for column in found.values()))
    )
    rows.append(("**too small bounds**", "", *(_too_small(column) for column in found.values())))
    note = (
        "The error, as a share of the true slope by mpmath; – where none is given. A bound is too small where the "
        "slope is further off than it says (marked !); three-point differences claim nothing. The peers are told the "
        "place, Gradloupe also how far one sees around it."
    )
    ours, median = (
        sum(each.underclaimed for each in found[OUR_NAME]),
        float(np.median([each.off for each in found[OUR_NAME]])),
    )
    targets = [
        Target("no error bound too small", str(ours), ours == 0),
        Target("median error at most 1e-12", f"{median:.0e}", median <= 1e-12),
    ]
    return Report([Table("Hard slopes", ("slope", "why", *found), rows, note)], targets)


def _found(hard: HardSlope, differentiator: Differentiator) -> MeasuredSlope:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value, bound = differentiator(hard)
    return MeasuredSlope(hard.truth(hard.at), value, bound)


def _cell(found: MeasuredSlope) -> str:
    if not np.isfinite(found.value):
        return "–"
    return f"{found.off:.0e}{' !' if _claims_too_little(found) else ''}"


def _claims_too_little(found: MeasuredSlope) -> bool:
    return not np.isnan(found.bound) and found.underclaimed


def _too_small(column: list[MeasuredSlope]) -> str:
    if all(np.isnan(each.bound) for each in column):
        return "–"
    return f"**{sum(map(_claims_too_little, column))}**"
