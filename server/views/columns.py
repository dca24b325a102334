"""Columns of the curves view: numbers row by row, reasons of missing numbers, and the marks of special points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.curve.evaluation import Evaluation
from ..numerics.differentiation.finite_differences import PointKind
from ..numerics.verdict.verdict import Verdict

ColumnArrays = dict[str, NDArray[Any]]

# Kinds of points where finite differences have no single value, and the reason given for the gap.
_GAP_OF_KIND = {PointKind.KINK: "kink", PointKind.JUMP: "jump", PointKind.UNRESOLVED: "undecided"}

_BENT = ("kink", "cusp")


def curve_columns(evaluation: Evaluation, verdict: Verdict) -> ColumnArrays:
    """The curves as float64 columns (``status``: uint8); gradients are ``grad_input``. NaN is not drawn."""
    scale, slopes, gap = evaluation.grad_output, evaluation.numerical.slopes, evaluation.rows.gap
    hidden = np.isin(slopes.kind, list(_GAP_OF_KIND))
    with np.errstate(invalid="ignore"):
        drawn: ColumnArrays = {
            "x": evaluation.rows.x,
            "forward": np.where(gap, np.nan, evaluation.forward),
            "numerical": np.where(hidden, np.nan, scale * slopes.value),
            "error": abs(scale) * slopes.error,
            "left": scale * slopes.left,
            "right": scale * slopes.right,
        }
        if evaluation.analytical is not None:
            drawn["analytical"] = evaluation.analytical
        if evaluation.surrogate is not None:
            drawn["surrogate"] = evaluation.surrogate.values
            drawn["surrogate_numerical"] = scale * evaluation.surrogate.slopes.value
    drawn["status"] = verdict.forward.status.astype(np.uint8)
    return drawn


def gap_reasons(evaluation: Evaluation, drawn: ColumnArrays) -> dict[str, dict[str, list[int]]]:
    """For each column, the rows that hold no finite number, by reason (nan, +inf, -inf, jump, kink, undecided)."""
    kinds = evaluation.numerical.slopes.kind
    reasons: dict[str, dict[str, list[int]]] = {}
    for name in (each for each in drawn if each not in ("x", "status")):  # in a fixed order: the ETag is a hash of it
        for row in np.flatnonzero(~np.isfinite(drawn[name])):
            hidden = _GAP_OF_KIND.get(PointKind(kinds[row])) if name == "numerical" else None
            cut = "jump" if name == "forward" and evaluation.rows.gap[row] else None
            reasons.setdefault(name, {}).setdefault(cut or hidden or _reason(drawn[name][row]), []).append(int(row))
    return reasons


def _reason(value: float) -> str:
    if np.isnan(value):
        return "nan"
    return "+inf" if value > 0 else "-inf"


def point_marks(evaluation: Evaluation) -> list[dict[str, Any]]:
    """The special points from left to right: kinks and cusps with their slopes, jumps and poles with their values.

    Slopes are ``grad_input``; what is not finite is None.
    """
    named = {float(each.x): each.kind for each in evaluation.special}
    x, slopes, gap = evaluation.rows.x, evaluation.numerical.slopes, evaluation.rows.gap
    bent = ~gap & (
        np.isin(x, [place for place, kind in named.items() if kind in _BENT]) | (slopes.kind == PointKind.KINK)
    )
    vertical = np.isinf(slopes.left) | np.isinf(slopes.right)
    kinks = [
        _kink(evaluation, named.get(float(x[row]), "cusp" if vertical[row] else "kink"), int(row))
        for row in np.flatnonzero(bent)
    ]
    jumps = [_jump(evaluation, named.get(float(x[row]), "jump"), int(row)) for row in np.flatnonzero(gap)]
    return sorted(kinks + jumps, key=lambda mark: float(mark["x"]))


def _kink(evaluation: Evaluation, kind: str, row: int) -> dict[str, Any]:
    slopes, scale = evaluation.numerical.slopes, evaluation.grad_output
    return _mark(evaluation, kind, row) | {
        "left": finite_or_none(scale * slopes.left[row]),
        "right": finite_or_none(scale * slopes.right[row]),
    }


def _jump(evaluation: Evaluation, kind: str, row: int) -> dict[str, Any]:
    jump = kind == "jump"
    return _mark(evaluation, kind, row) | {
        "below": finite_or_none(evaluation.forward[row - 1]) if jump else None,
        "above": finite_or_none(evaluation.forward[row + 1]) if jump else None,
    }


def _mark(evaluation: Evaluation, kind: str, row: int) -> dict[str, Any]:
    return {
        "kind": kind,
        "x": float(evaluation.rows.x[row]),
        "forward": finite_or_none(evaluation.forward[row]),
        "analytical": None if evaluation.analytical is None else finite_or_none(evaluation.analytical[row]),
    }


def finite_or_none(value: float) -> float | None:
    """The number, or None if it is not finite."""
    return float(value) if np.isfinite(value) else None
