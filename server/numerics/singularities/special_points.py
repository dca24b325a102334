"""Special points of a forward (kinks, cusps, jumps, poles), also between grid points: found, localized, classified."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...runtime.arrays import EPSILON, Array, Forward
from ..formatting.numbers import simplest_number
from .candidates import EVEN_SPACING, SingularityCandidates, SingularitySearch
from .classification import APPROACH_DISTANCES, OneSidedLimit, SingularityKind, classify_singularities, kink_position

# The largest distance from a special point at which its sides are evaluated: in cells, or as a fraction of the distance
# to the nearest other one.
_REACH, _SHARE = 1.0, 0.25
# The least such distance, in units in the last place of x.
_MIN_ULPS = 32
# With more suspects than this within a cell on either side, small jumps are taken for rounding.
_CROWD = 6


@dataclass(frozen=True)
class SpecialPoint:
    """A place where forward is not smooth, within ``[left, right]``; ``x`` is the simplest number in between.

    At a ``kink`` the one-sided slopes differ. At a ``cusp`` forward has a value, but a one-sided slope is unbounded,
    as that of √x at the edge of its domain. At a ``jump`` forward is discontinuous, at a ``pole`` unbounded.
    """

    kind: SingularityKind
    x: float
    left: float
    right: float


def special_points(
    forward: Forward,
    x: Array,
    y: Array,
    precision: float = EPSILON,
    known: tuple[SpecialPoint, ...] = (),
    cheap: bool = True,
    jumps_only: bool = False,
) -> tuple[SpecialPoint, ...]:
    """The special points of ``forward`` on the increasing grid ``x``, where it has the values ``y``.

    At most 256; a tenth of a cell between two is enough to resolve them. ``precision`` is half a unit in the last
    place of the precision that forward computes in. Places ``known`` are skipped. If many values in one call are
    ``cheap``, some thousand are used for each point, and 8192 where the grid is too coarse for forward; otherwise some
    two hundred each. With ``jumps_only`` other kinds may be left out.
    """
    with np.errstate(all="ignore"):
        cell = float((x[-1] - x[0]) / (x.size - 1))
        finite = y[np.isfinite(y)]
        rise = float(finite.max() - finite.min()) if finite.size else 0.0
        search = SingularitySearch(forward, precision, cell, rise, rise / float(x[-1] - x[0]), cheap, jumps_only)
        places = np.array([each.x for each in known])
        candidates = search.search(x, y, places)
        return _classified(search, candidates, places) if candidates.low.size else ()


def _classified(search: SingularitySearch, candidates: SingularityCandidates, known: Array) -> tuple[SpecialPoint, ...]:
    """The special point in each interval; intervals that are merely steep are left out."""
    x = np.array([simplest_number(low, high) for low, high in zip(candidates.low, candidates.high, strict=True)])
    order = np.lexsort((candidates.high - candidates.low, x))
    x, candidates = x[order], candidates.where(order)
    width = candidates.high - candidates.low
    distinct = np.ones(x.size, bool)
    distinct[1:] = x[1:] - x[:-1] > np.maximum(width[1:], width[:-1]) + 4 * np.spacing(np.abs(x[1:]))
    if known.size:
        distinct &= np.abs(x[:, None] - known).min(axis=1) > EVEN_SPACING * search.cell
    x, candidates, width = x[distinct], candidates.where(distinct), width[distinct]
    if not x.size:
        return ()
    here, below, above = _sides(search, x, width)
    crowded = np.searchsorted(x, x + search.cell) - np.searchsorted(x, x - search.cell) > _CROWD
    kinds, scale = classify_singularities(here, below, above, search.rise, search.visible, crowded)
    points = []
    for i, kind in enumerate(kinds):
        position, radius = float(x[i]), float(width[i])
        if kind == "kink":
            position, radius = kink_position(position, radius, below, above, i, int(scale[i]))
        elif kind == "cusp" and not np.isfinite(here[i]):
            ends = np.array([candidates.low[i], candidates.high[i]])
            position = float(ends[np.isfinite(search.forward(ends)).argmax()])
        if kind:
            points.append(SpecialPoint(kind, position, position - radius, position + radius))
    return tuple(points)


def _sides(search: SingularitySearch, x: Array, width: Array) -> tuple[Array, OneSidedLimit, OneSidedLimit]:
    """The values at the places, and the samples on either side of them."""
    spacing = np.diff(x, prepend=-np.inf, append=np.inf)
    widest = np.minimum(_REACH * search.cell, _SHARE * np.minimum(spacing[:-1], spacing[1:]))
    distance = widest * APPROACH_DISTANCES
    points = np.stack((x - distance, x + distance))
    values = search.values(np.concatenate((x[None], *points)))
    values_at, sides = values[0], values[1:].reshape(points.shape)
    last_place = np.spacing(np.abs(x)) * (search.precision / EPSILON)
    fine = distance > np.maximum(_MIN_ULPS * last_place, 2 * width)
    drift = np.fmax(*np.abs(sides[:, 0] - sides[:, 1])) / widest

    def side(points: Array, values: Array) -> OneSidedLimit:
        nearest = np.abs(values).min(axis=0, initial=np.inf, where=fine)
        return OneSidedLimit(points, values, fine, search.precision * (nearest + drift * np.abs(x)))

    return values_at, side(points[0], sides[0]), side(points[1], sides[1])
