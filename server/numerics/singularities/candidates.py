"""Candidates for kinks, jumps and edges of the domain: grid nodes whose second or sixth differences stand out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Array, Mask

# A node is suspect if the slope changes there this many times more than three cells away on either side.
_OUTSTANDING = 4.0
# Sixth differences detect a kink that curvature hides from second ones; they spread it over three nodes on each side.
_SIXTH, _WIDE = 6, (6, 8)
# Rounding contributes up to 64 units to a sixth difference (1 + 6 + 15 + 20 + 15 + 6 + 1), in y and in x.
_SIXTH_GAIN, _SIXTH_PLACES = 64.0, 64e-9
_TURN_IN_SIXTHS = 4.0
EVEN_SPACING = 1e-6
# Changes below these fractions of the visible slope and rise are invisible.
UNSEEN_TURN = 1e-6
UNSEEN_JUMP = 1e-6
# With this many nodes at which sixth differences exceed second ones, the grid is too coarse for forward.
_UNRESOLVED, _MARGIN = 4, 8
# With more than one suspect in this many cells, some may hide others.
_CROWDED = 32


@dataclass(frozen=True)
class SingularityCandidates:
    """Candidate intervals ``[low, high]``, and how ``sharp`` forward turns in each.

    On a finer grid the sharpness of a kink stays, that of a jump grows, and that of a smooth bend falls.
    ``edge`` says that the domain of forward ends there; ``column`` is the index of the grid it was found on.
    """

    low: Array
    high: Array
    edge: Mask
    sharp: Array
    column: NDArray[np.intp]

    def where(self, kept: Mask | NDArray[np.intp]) -> SingularityCandidates:
        """A selection of them."""
        return SingularityCandidates(
            self.low[kept], self.high[kept], self.edge[kept], self.sharp[kept], self.column[kept]
        )

    def and_also(self, other: SingularityCandidates) -> SingularityCandidates:
        """These followed by the ``other`` ones."""
        return SingularityCandidates(
            np.concatenate((self.low, other.low)),
            np.concatenate((self.high, other.high)),
            np.concatenate((self.edge, other.edge)),
            np.concatenate((self.sharp, other.sharp)),
            np.concatenate((self.column, other.column)),
        )

    def sharpest(self, most: int) -> SingularityCandidates:
        """The ``most`` sharpest ones, in their order."""
        if self.low.size <= most:
            return self
        return self.where(np.sort(np.argsort(-self.sharp, kind="stable")[:most]))


def find_candidates(
    x: Array, y: Array, precision: float, rise: float, visible: float, known: Array
) -> SingularityCandidates:
    """The suspects on each column of the grids ``x``, where forward has the values ``y`` (both nodes × columns).

    ``rise`` and ``visible`` are the rise and the mean slope of the picture, which set the scale of what is visible.
    The neighbourhoods of the places ``known`` are skipped.
    """
    nodes = x.shape[0]
    if nodes < 8:
        return _NONE
    run, finite = _steps(x), np.isfinite(y)
    slope = _steps(y) / run
    turn, least = np.abs(_steps(slope)), np.abs(slope)
    suspect = np.zeros(x.shape, bool)
    sharp = np.zeros(x.shape)
    rounding = precision * (np.abs(y[1:-1]) + np.abs(x[1:-1]) * np.fmin(least[1:], least[:-1]))
    suspect[1:-1] = (turn > _OUTSTANDING * _aside(turn, 3)) & (turn > 16 * rounding / run[1:] + UNSEEN_TURN * visible)
    sharp[1:-1] = _TURN_IN_SIXTHS * turn
    if nodes > 2 * _SIXTH and _even(run):
        sixth = _sixth(y)
        loud = sixth > _sixth_floor(x, y, run, precision, rise, visible)
        np.copyto(sharp[3:-3], sixth / run[0], where=np.isfinite(sixth))
        if loud.any():
            loud &= (sixth > _OUTSTANDING * _aside(sixth, *_WIDE)) & ~_near(known, x, 3)[3:-3]
            # The sixth difference of a kink between two nodes is largest at the neighbours of these nodes.
            for shift in (2, 3, 4):
                suspect[shift : shift - 6] |= loud
    suspect &= ~_near(known, x, 1)
    if finite.all():
        return _intervals(x, suspect, sharp)
    alone = _alone(finite)
    suspect = (suspect & finite) | alone
    sharp[alone] = np.inf
    return _intervals(x, suspect, sharp).and_also(_edges(x, finite | alone, known))


def unresolved_range(
    x: Array, y: Array, precision: float, rise: float, visible: float, aside: SingularityCandidates, known: Array
) -> Array:
    """The part ``[low, high]`` of the single grid ``x`` that is too coarse to resolve forward; empty if none is."""
    run = _steps(x)
    if x.size <= 2 * _SIXTH or not _even(run):
        return np.empty(0)
    second, sixth = np.abs(_steps(_steps(y))), _sixth(y)
    coarse = (sixth > second[2:-2]) & (sixth > np.fmax(second[1:-3], second[3:-1]))
    coarse &= (sixth > _sixth_floor(x, y, run, precision, rise, visible)) & np.isfinite(sixth)
    at = x[3:-3]
    for each in np.flatnonzero(aside.high - aside.low <= 16 * run[0]):
        coarse &= (at < aside.low[each] - 3 * run[0]) | (at > aside.high[each] + 3 * run[0])
    coarse &= ~_near(known, x[:, None], 4)[3:-3, 0]
    nodes = np.flatnonzero(coarse) + 3
    if aside.low.size * _CROWDED > x.size:
        nodes = np.concatenate((np.searchsorted(x, aside.low), nodes, np.searchsorted(x, aside.high)))
        nodes.sort()
    if nodes.size < _UNRESOLVED:
        return np.empty(0)
    return np.array([x[max(nodes[0] - _MARGIN, 0)], x[min(nodes[-1] + _MARGIN, x.size - 1)]])


def _steps(values: NDArray[Any]) -> NDArray[Any]:
    return values[1:] - values[:-1]


def _sixth(y: Array) -> Array:
    """The magnitude of the sixth differences, at all nodes but three at either end."""
    for _ in range(_SIXTH // 2):
        y = y[2:] - 2 * y[1:-1] + y[:-2]
    return np.abs(y)


def _even(run: Array) -> bool:
    return bool((run.max(axis=0) - run.min(axis=0) < EVEN_SPACING * run.max(axis=0)).all())


def _aside(values: Array, *distances: int) -> Array:
    """The largest of the values at these distances on either side, with 0 beyond the ends."""
    most = max(distances)
    padded = np.zeros((values.shape[0] + 2 * most, *values.shape[1:]))
    padded[most:-most] = values
    size = values.shape[0]
    found = np.zeros(values.shape)
    for each in distances:
        np.fmax(found, padded[most - each : most - each + size], out=found)
        np.fmax(found, padded[most + each : most + each + size], out=found)
    return found


def _sixth_floor(x: Array, y: Array, run: Array, precision: float, rise: float, visible: float) -> Array:
    unseen = np.minimum(4 * UNSEEN_TURN * visible * run[0], 10 * UNSEEN_JUMP * rise)
    places = _SIXTH_PLACES + _SIXTH_GAIN * precision * np.abs(x[3:-3]) / run[0]
    return unseen + _SIXTH_GAIN * precision * np.abs(y[3:-3]) + places * np.abs(y[4:-2] - y[2:-4])


def _near(known: Array, x: Array, cells: int) -> Mask:
    """The nodes of each column within this many cells of a known place."""
    near = np.zeros(x.shape, bool)
    if known.size and x.shape[1] == 1:
        at = np.searchsorted(x[:, 0], known)
        for shift in range(-cells - 1, cells + 1):
            near[np.clip(at + shift, 0, x.shape[0] - 1)] = True
    return near


def _intervals(x: Array, suspect: Mask, sharp: Array) -> SingularityCandidates:
    """Intervals of neighbouring suspect nodes, with the cells on either side.

    Nodes up to two apart belong together: a jump through a node with a value of its own, as sign's, turns on either
    side of that node only.
    """
    if not suspect.any():
        return _NONE
    column, node = np.nonzero(suspect.T)
    apart = (_steps(node) > 2) | (_steps(column) > 0)
    starts = np.concatenate(([0], np.flatnonzero(apart) + 1))
    ends = np.concatenate((starts[1:], [node.size])) - 1
    most = np.maximum.reduceat(sharp[node, column], starts)
    column = column[starts]
    low = x[np.maximum(node[starts] - 1, 0), column]
    high = x[np.minimum(node[ends] + 1, x.shape[0] - 1), column]
    return SingularityCandidates(low, high, np.zeros(low.size, bool), most, column)


def _alone(finite: Mask) -> Mask:
    """Single nodes without a value, between nodes that have one."""
    alone = np.zeros(finite.shape, bool)
    alone[1:-1] = ~finite[1:-1] & finite[2:] & finite[:-2]
    return alone


def _edges(x: Array, finite: Mask, known: Array) -> SingularityCandidates:
    """The cells in which the domain of forward ends, with the cells next to them."""
    column, node = np.nonzero((finite[1:] != finite[:-1]).T)
    low, high = x[np.maximum(node - 1, 0), column], x[np.minimum(node + 2, x.shape[0] - 1), column]
    found = SingularityCandidates(low, high, np.ones(low.size, bool), np.full(low.size, np.inf), column)
    return found.where(~((known[:, None] >= low) & (known[:, None] <= high)).any(axis=0))


_NONE = SingularityCandidates(np.empty(0), np.empty(0), np.empty(0, bool), np.empty(0), np.empty(0, np.intp))
