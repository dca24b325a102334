"""The implied forward: the antiderivative of what backward returns."""

from __future__ import annotations

import numpy as np

from ...runtime.arrays import Array, Mask, longest_run
from ..curve.evaluation import Evaluation
from ..status import AGREEING
from ..verdict.verdict import Verdict, judged_curve


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
    meant, agrees = evaluation.numerical.values, np.isin(verdict.forward.status, AGREEING)
    agrees &= np.isfinite(meant)
    if verdict.word == "matches its surrogate":
        meant, agrees = judged_curve(evaluation, verdict).values, np.zeros_like(agrees)
    for piece in np.unique(pieces):
        rows = np.flatnonzero((pieces == piece) & inside)
        if rows.size < 2:
            inside[rows] = False
            continue
        implied[rows] += _offset(implied[rows], meant[rows], agrees[rows])
    return np.where(inside, implied, np.nan)


def _offset(piece: Array, meant: Array, agrees: Mask) -> float:
    """What has to be added to a piece, to lie on what is ``meant`` where that ``agrees`` for longest, or anywhere."""
    distance = meant - piece
    if agrees.any():
        first, last = longest_run(agrees)
        distance = distance[first : last + 1]
    finite = distance[np.isfinite(distance)]
    return float(finite.mean()) if finite.size else 0.0
