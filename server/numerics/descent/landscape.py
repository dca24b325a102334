"""The curve on which a descent in one number is drawn: forward, or the loss where there is more than one output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...runtime.arrays import Array, Forward
from .loss import Loss
from .true_gradient import TrueForward

_COUNT, _MOST_POINTS = 201, 801
# The picture holds the range and the start, with room for so many more ranges on either side; where the start is
# farther away than that many ranges, only what is around it, in numbers that can be told apart.
_ROOM, _NEAR, _APART = 1.0, 32.0, 1e-4
# A cell that rises _STEEP times the median is bisected _HALVINGS times; it is a jump if _KEPT of its rise is left.
_STEEP, _HALVINGS, _KEPT = 6.0, 44, 0.5
_MOST = 24


@dataclass(frozen=True)
class Landscape:
    """``y`` at every ``x``: the output where ``of`` is "forward", else the loss. NaN between two sides of a jump.

    ``returned`` and ``true`` are the heights of the two descents, step by step.
    """

    of: str
    x: Array
    y: Array
    returned: Array
    true: Array


def landscape(truth: TrueForward, loss: Loss, start: float, stop: float, returned: Array, true: Array) -> Landscape:
    """From ``start`` to ``stop``, and as far beyond as the positions ``returned`` and ``true`` lie, within reason."""
    x = _places(start, stop, np.concatenate((returned, true)))
    single = truth.outputs(returned[:1, None]).shape[1] == 1

    def height(t: Array) -> Array:
        y = truth.outputs(t[:, None])
        return y[:, 0] if single else ((y - np.array(loss.goal)) ** 2).mean(axis=1)

    of = "forward" if single else "loss"
    return Landscape(of, *_torn(height, x, height(x)), height(returned), height(true))


def _places(start: float, stop: float, visited: Array) -> Array:
    """Where forward is looked at: as densely as the range alone would be, as far as that is not too much."""
    span, begin = stop - start, float(visited[0])
    visited = visited[np.isfinite(visited)]
    if not start - _NEAR * span <= begin <= stop + _NEAR * span:
        span = max(span, _APART * abs(begin))
        start, stop = begin - span / 2, begin + span / 2
    start, stop = min(start, begin), max(stop, begin)
    low = max(start - _ROOM * span, float(visited.min(initial=start)))
    high = min(stop + _ROOM * span, float(visited.max(initial=stop)))
    count = round(_COUNT * (high - low) / ((1 + 2 * _ROOM) * span))
    return np.linspace(low, high, min(_MOST_POINTS, max(_COUNT, count)))


def _torn(height: Forward, x: Array, y: Array) -> tuple[Array, Array]:
    """The same with both sides of every jump, and NaN between them."""
    rises = np.abs(np.diff(y))
    usual = float(np.median(rises[np.isfinite(rises)])) if np.isfinite(rises).any() else 0.0
    steep = np.flatnonzero(rises > _STEEP * usual)
    cells = np.sort(steep[np.argsort(-rises[steep], kind="stable")][:_MOST])
    left, right, below, above = x[cells], x[cells + 1], y[cells], y[cells + 1]
    for _ in range(_HALVINGS if cells.size else 0):
        middle = (left + right) / 2
        between = height(middle)
        lower = np.abs(between - below) > np.abs(above - between)
        left, below = np.where(lower, left, middle), np.where(lower, below, between)
        right, above = np.where(lower, middle, right), np.where(lower, between, above)
    jumps = np.abs(above - below) > _KEPT * rises[cells]
    after = np.repeat(cells[jumps] + 1, 3)
    new_x = np.stack((left, (left + right) / 2, right))[:, jumps].T.ravel()
    new_y = np.stack((below, np.full(cells.size, np.nan), above))[:, jumps].T.ravel()
    return np.insert(x, after, new_x), np.insert(y, after, new_y)
