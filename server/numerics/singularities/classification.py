"""Classification of a singularity (kink, cusp, jump, pole) from the one-sided limits of forward and its slope."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Array, Mask
from ..formatting.numbers import simplest_number
from .candidates import UNSEEN_JUMP, UNSEEN_TURN
from .one_sided_limits import OneSidedLimit

SingularityKind = Literal["kink", "cusp", "jump", "pole"]

# The height of a jump relative to the last steps of the values towards it, and to their rounding.
_STANDS, _ROUNDINGS = 4.0, 512.0
_UNSEEN_IN_A_CROWD = 1e-3
# At a kink the one-sided slopes stay constant over three fourfold reductions of the distance, to this fraction of its
# angle; and at smaller distances the angle is at least this fraction of it.
_PLATEAU, _KEPT, _CONTRADICTS = 3, 0.2, 0.6
# Rounding may be this many times the expected one.
_ROUGH = 8.0


def classify_singularities(
    here: Array, below: OneSidedLimit, above: OneSidedLimit, rise: float, visible: float, crowded: Mask
) -> tuple[list[SingularityKind | None], NDArray[np.intp]]:
    """The kind of each place, None where forward is smooth, and the finest scale at which a kink shows its angle.

    ``here`` are the values at the places. ``rise`` and ``visible`` slope of the picture set the scale below which
    nothing is visible; where special points are ``crowded``, small jumps are taken for rounding.
    """
    pole, cusp = below.diverges | above.diverges, below.vertical | above.vertical
    jump = _jumps(here, below, above, np.where(crowded, _UNSEEN_IN_A_CROWD, UNSEEN_JUMP) * rise)
    kink, scale = _turns(below, above, visible)
    named: tuple[tuple[SingularityKind, Mask], ...] = (("pole", pole), ("jump", jump), ("cusp", cusp), ("kink", kink))
    return [next((kind for kind, holds in named if holds[i]), None) for i in range(here.size)], scale


def _jumps(here: Array, below: OneSidedLimit, above: OneSidedLimit, unseen: Array) -> Mask:
    """Whether the one-sided limits differ from each other, or both from the value in between."""
    floor = _ROUNDINGS * np.maximum(below.rounding, above.rounding) + unseen
    moving = _STANDS * np.maximum(below.moving, above.moving)
    height = np.abs(above.limit - below.limit)
    alone = np.minimum(np.abs(here - below.limit), np.abs(here - above.limit))
    apart = (height > floor) & (height > moving)
    apart |= (alone > floor) & (alone > moving) & np.isfinite(here)
    return apart & below.there & above.there


def _turns(below: OneSidedLimit, above: OneSidedLimit, visible: float) -> tuple[Mask, NDArray[np.intp]]:
    """Whether the one-sided slopes differ by an angle that stays as the distance shrinks, and down to which scale."""
    turn = np.abs(above.slopes - below.slopes)
    noise = _ROUGH * (below.rounding + above.rounding) / np.abs(np.diff(above.points, axis=0))
    fine, scales = above.fine[1:], turn.shape[0]
    nearer = np.where(fine, turn + 4 * noise, np.inf)[::-1]
    at_most = np.minimum.accumulate(nearer, axis=0)[::-1]
    seen = fine & (turn > 4 * noise) & (turn > UNSEEN_TURN * visible) & (at_most >= _CONTRADICTS * turn)
    for slopes in (below.slopes, above.slopes):
        for back in range(1, _PLATEAU + 1):
            moved = np.abs(slopes[_PLATEAU:] - slopes[_PLATEAU - back : scales - back])
            seen[_PLATEAU:] &= moved < _KEPT * turn[_PLATEAU:]
    seen[:_PLATEAU] = False
    finest = scales - 1 - seen[::-1].argmax(axis=0)
    return seen.any(axis=0) & below.there & above.there, finest


def kink_position(
    x: float, width: float, below: OneSidedLimit, above: OneSidedLimit, place: int, scale: int
) -> tuple[float, float]:
    """The intersection of the two sides of the kink at ``x`` ± ``width``, and its error bound.

    Each side is extended linearly with its slope at ``scale``.
    """
    left, at_left = _extended(below, x, place, scale)
    right, at_right = _extended(above, x, place, scale)
    shift = (at_right - at_left) / (left - right)
    doubt = 2 * _ROUGH * float(below.rounding[place] + above.rounding[place]) / abs(right - left)
    doubt += 2 * float(np.spacing(np.abs(above.points[0, place])))
    if not (abs(shift) <= width and doubt < width):
        return x, width
    return simplest_number(x + shift - doubt, x + shift + doubt), 2 * doubt


def _extended(side: OneSidedLimit, x: float, place: int, scale: int) -> tuple[float, float]:
    """The slope of a side at a scale, and the value of its linear extension at ``x``."""
    slope = float(side.slopes[scale, place])
    return slope, float(side.values[scale + 1, place] - slope * (side.points[scale + 1, place] - x))
