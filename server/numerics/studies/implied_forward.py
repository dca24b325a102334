"""The implied forward: the antiderivative of what backward returns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Array
from ..curve.evaluation import Evaluation
from ..status import Status
from ..verdict.point_judge import longest_run
from ..verdict.verdict import Verdict, judged_curve

_AGREEING = (Status.AGREES, Status.SUBGRADIENT)


def implied_forward(evaluation: Evaluation, verdict: Verdict) -> Array | None:
    """The antiderivative of ``grad_input / grad_output``, one value a row; NaN where nothing can be integrated.

    A derivative says nothing of the height, so every unbroken piece is laid on what backward agrees with: on
    forward along the longest stretch where it is forward's derivative, else on the surrogate if it is that one's,
    else so that it lies above forward as often as below. None where backward returned nothing.
    """
    area = evaluation.area
    if area is None:
        return None
    slope = area.area / evaluation.grad_output
    integrable = np.isfinite(slope)
    heights = np.concatenate(([0.0], np.cumsum(np.where(integrable, slope, 0.0))))
    implied = np.interp(evaluation.rows.x, evaluation.rows.x[area.ends], heights)
    inside = np.ones(implied.size, bool)
    for cell in np.flatnonzero(~integrable):
        inside[area.ends[cell] + 1 : area.ends[cell + 1]] = False
    pieces = np.searchsorted(area.ends[:-1][~integrable], np.arange(implied.size), side="left")
    forward, status = evaluation.numerical.values, verdict.forward.status
    for piece in np.unique(pieces):
        rows = np.flatnonzero((pieces == piece) & inside)
        if rows.size < 2:
            inside[rows] = False
            continue
        implied[rows] += _offset(implied[rows], forward[rows], status[rows], _surrogate(evaluation, verdict, rows))
    return np.where(inside, implied, np.nan)


def _surrogate(evaluation: Evaluation, verdict: Verdict, rows: NDArray[np.intp]) -> Array | None:
    """The surrogate's values, if backward is its gradient."""
    return judged_curve(evaluation, verdict).values[rows] if verdict.word == "matches its surrogate" else None


def _offset(piece: Array, forward: Array, status: NDArray[np.int8], surrogate: Array | None) -> float:
    """What has to be added to a piece."""
    if surrogate is not None:
        return _mean(surrogate - piece)
    agrees = np.isin(status, _AGREEING) & np.isfinite(forward)
    if agrees.any():
        first, last = longest_run(agrees)
        return _mean((forward - piece)[first : last + 1])
    return _mean(forward - piece)


def _mean(distance: Array) -> float:
    finite = distance[np.isfinite(distance)]
    return float(finite.mean()) if finite.size else 0.0
