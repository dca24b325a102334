"""Kinks, jumps and poles between the grid points: found by their bend, narrowed down, told apart."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

import numpy as np

from .noise import EPSILON, Array, Forward

# A node is suspect when the slope turns there this much more than three cells further on either side.
OUTSTANDING = 4.0
MOST = 64
PARTS = 64
SHARES = np.linspace(0, 1, PARTS + 1)[:, None]
PASSES = 8
# Below these shares of the visible slope and rise nothing can be seen.
UNSEEN_TURN = 1e-6
UNSEEN_JUMP = 1e-7


@dataclass(frozen=True)
class SpecialPoint:
    """A kink, jump or pole of a forward, within ``[left, right]``; ``x`` is the simplest number in between."""

    kind: Literal["kink", "jump", "pole"]
    x: float
    left: float
    right: float


def special_points(
    forward: Forward, x: Array, y: Array, precision: float = EPSILON, known: tuple[SpecialPoint, ...] = ()
) -> tuple[SpecialPoint, ...]:
    """The kinks, jumps and poles of ``forward`` seen on the increasing grid ``x``, where it has the values ``y``.

    At most 64, the sharpest first come; those closer together than four cells may hide each other.
    ``precision`` is half a unit in the last place of what the forward computes in. Where one is ``known``
    none is looked for.
    """
    with np.errstate(all="ignore"):
        low, high = _suspects(x, y, precision)
        places = np.array([each.x for each in known])
        news = ~((places[:, None] >= low) & (places[:, None] <= high)).any(axis=0)
        low, high = low[news], high[news]
        if not low.size:
            return ()
        before = high - low
        for _ in range(PASSES):
            before = high - low
            low, high = _narrow(forward, low, high, precision)
        return _classify(forward, low, high, before, x, y, precision)


def _suspects(x: Array, y: Array, precision: float) -> tuple[Array, Array]:
    """Intervals of the grid around the nodes where the slope turns more than its surroundings explain."""
    span = x[-1] - x[0]
    slope = np.diff(y) / np.diff(x)
    turn = np.abs(np.diff(slope))
    if turn.size < 6:
        return np.empty(0), np.empty(0)
    finite = y[np.isfinite(y)]
    rise = float(finite.max() - finite.min()) if finite.size else 0.0
    padded = np.pad(turn, 3)
    around = np.maximum(padded[:-6], padded[6:])
    noise = 16 * precision * np.abs(y[1:-1]) / np.diff(x)[1:]
    suspect = (turn > OUTSTANDING * around) & (turn > noise + UNSEEN_TURN * rise / span)
    nodes = np.flatnonzero(suspect) + 1
    if not nodes.size:
        return np.empty(0), np.empty(0)
    # A jump through a value of its own on a node, as sign's, turns on either side of that node only.
    groups = np.split(nodes, np.flatnonzero(np.diff(nodes) > 2) + 1)
    groups.sort(key=lambda group: -float(turn[group - 1].max()))
    groups = sorted(groups[:MOST], key=lambda group: int(group[0]))
    return np.array([x[g[0] - 1] for g in groups]), np.array([x[g[-1] + 1] for g in groups])


def _narrow(forward: Forward, low: Array, high: Array, precision: float) -> tuple[Array, Array]:
    """Each interval cut to the two of its 64 parts between which the forward bends most.

    An interval whose bend has sunk into the noise stays as it is.
    """
    points = low + (high - low) * SHARES
    points[-1] = high
    values = forward(points.ravel()).reshape(points.shape)
    bend = np.abs(values[:-2] - 2 * values[1:-1] + values[2:])
    bend[np.isnan(bend)] = 0.0
    at = bend.argmax(axis=0)
    column = np.arange(low.size)
    most = bend[at, column]
    heard = (most > 8 * precision * np.abs(values[at + 1, column])) | np.isinf(most)
    heard &= points[at + 2, column] - points[at, column] > 4 * np.spacing(np.abs(high))
    return np.where(heard, points[at, column], low), np.where(heard, points[at + 2, column], high)


def _classify(
    forward: Forward, low: Array, high: Array, before: Array, x: Array, y: Array, precision: float
) -> tuple[SpecialPoint, ...]:
    """What each interval holds; those that were only steep are left out."""
    span = float(x[-1] - x[0])
    cell = span / (x.size - 1)
    finite = y[np.isfinite(y)]
    rise = float(finite.max() - finite.min())
    middle = np.array([_simplest(a, b) for a, b in zip(low, high, strict=True)])
    wide = np.maximum(before, 64 * (high - low))
    low, high = middle - (high - low), middle + (high - low)
    reaches = cell * np.array([1e-3, 1e-4, 1e-5])[:, None]
    points = np.concatenate(([low, high, middle - wide, middle + wide, middle], middle - reaches, middle + reaches))
    values = forward(points.ravel()).reshape(points.shape)
    below, above, far_below, far_above, here = values[:5]
    # At a pole there is no value to take the measure of rounding from, but there is one beside it.
    noise = 8 * precision * np.where(np.isfinite(here), np.abs(here), np.fmin(np.abs(below), np.abs(above)))
    height = np.abs(above - below)
    far_height = np.abs(far_above - far_below)
    jump = (height > 64 * noise + UNSEEN_JUMP * rise) & (height > 0.5 * far_height)
    pole = jump & ~(height < 2 * far_height)

    left, right = (here - values[5:8]) / reaches, (values[8:11] - here) / reaches
    turn = np.abs(right - left)
    floor = 2 * noise / reaches[-1] + UNSEEN_TURN * rise / span
    kink = (turn[-1] > 0.5 * turn[-2]) & (turn[-1] > floor) & ~jump
    return tuple(
        SpecialPoint(
            "pole" if pole[i] else "jump" if jump[i] else "kink", float(middle[i]), float(low[i]), float(high[i])
        )
        for i in np.flatnonzero(jump | kink)
    )


def _simplest(low: float, high: float) -> float:
    """The number of fewest decimals in ``[low, high]``: a bound of 1.37 is found as 1.37."""
    if low <= 0 <= high:
        return 0.0
    middle = Decimal((low + high) / 2)
    for digits in range(1, 18):
        near = float(f"{middle:.{digits}g}")
        if low <= near <= high:
            return near
    return float(middle)
