"""Where straight lines between the rows would miss a curve, as far as the values at the rows can tell."""

from __future__ import annotations

import numpy as np

from ...runtime.arrays import Array, Mask
from ..singularities.special_points import SpecialPoint
from .grid import Rows

# The picture is so many pixels wide and high, and no line may be further off than this.
PIXELS, ALLOWED = 1000.0, 0.25
# Cells that are estimated to be off by this share of it are doubted.
DOUBTED = 0.5
# In cells: what is narrower are the two sides of one place.
TINY = 1e-4
# So many units of rounding are not worth a point.
ROUNDINGS = 32.0


def allowed_of(at: Rows, lines: Array, special: tuple[SpecialPoint, ...], rounding: Array) -> Array:
    """A quarter of a pixel of each line's panel, which shows all of it but what is next to a pole."""
    shown = np.where(np.isfinite(lines), lines, np.nan)
    hidden = next_to(at.x, special, "pole")
    shown[:, np.append(hidden, False) | np.append(False, hidden) | at.gap] = np.nan
    high, low = (np.fmax.reduce(side, axis=1, initial=-np.inf) for side in (shown, -shown))
    rise = np.where(high + low > 0, high + low, np.inf)
    size = np.where(np.isfinite(rise), np.maximum(np.abs(high), np.abs(low)), 0.0)
    return np.maximum(ALLOWED / PIXELS * rise, ROUNDINGS * rounding * size)


def next_to(x: Array, special: tuple[SpecialPoint, ...], kind: str) -> Mask:
    """The cells next to a special point of this kind."""
    near = np.zeros(x.size - 1, bool)
    for each in special:
        if each.kind == kind:
            row = int(np.searchsorted(x, each.x))
            near[max(row - 1, 0) : row + 1] = True
    return near


def doubted(at: Rows, lines: Array, allowed: Array, special: tuple[SpecialPoint, ...]) -> Mask:
    """The cells over which some line may be bent by more than is allowed, as its second differences tell."""
    run = np.diff(at.x)
    open_ = (run > TINY * (at.x[-1] - at.x[0]) / at.x.size) & ~at.gap[1:] & ~at.gap[:-1]
    with np.errstate(all="ignore"):
        slope = np.diff(lines, axis=1) / run
        curved = 2 * np.abs(np.diff(slope, axis=1)) / (run[1:] + run[:-1])
    alone = _alone(at, special)
    known = np.isfinite(curved) & ~alone[1:-1] & open_[1:] & open_[:-1]
    # The gradient leaps at a kink, and so its rows beside one have a side too few.
    known[1:] &= ~alone[2:] & ~alone[:-2]
    curved = np.where(known, curved, 0.0)
    # A row at a special point has no curvature of its own, and takes that of the rows around.
    curved = np.maximum(curved, np.where(known, 0.0, _largest_beside(curved)))
    curved = np.concatenate((curved[:, :1], curved, curved[:, -1:]), axis=1)
    bent = (np.maximum(curved[:, 1:], curved[:, :-1]) * run**2 / 8 > DOUBTED * allowed[:, None]).any(axis=0)
    finite = np.isfinite(lines)
    bent |= (finite[:, 1:] != finite[:, :-1])[0] | next_to(at.x, special, "cusp")
    return bent & open_


def _largest_beside(curved: Array) -> Array:
    padded = np.pad(curved, ((0, 0), (2, 2)))
    count = curved.shape[1]
    parts = [padded[:, shift : shift + count] for shift in (0, 1, 3, 4)]
    beside: Array = np.maximum.reduce(parts)
    return beside


def _alone(at: Rows, special: tuple[SpecialPoint, ...]) -> Mask:
    """The rows at special points: the curvature seen there is none of the curve's."""
    alone = at.gap | at.below | at.above
    alone[np.isin(at.x, [each.x for each in special])] = True
    return alone


def slopes_near(x: Array, values: Array) -> Array:
    """The slope of forward near each row, from those of the cells beside it."""
    with np.errstate(all="ignore"):
        slope = np.diff(values) / np.diff(x)
        mean = (slope[1:] + slope[:-1]) / 2
        return np.concatenate((2 * slope[:1] - mean[:1], mean, 2 * slope[-1:] - mean[-1:]))
