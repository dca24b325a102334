"""The search for singularities of forward: suspect nodes of a grid, narrowed down to the last places of x."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Array, Forward, Mask, at_rows, consecutive_differences, unit_shares
from ..tolerance import ALIKE_SHARE, CLEARLY, FEW_ULPS, MANY_ULPS

# unit: sixth differences detect a kink that curvature hides from second ones; they spread it over 3 nodes on each side.
_SIXTH, _SIXTH_APART = 6, (6, 8)  # They are compared to those this many cells away (a sample).
_SIXTH_SHARE = 64e-9  # ulps: rounding of x contributes up to 64 units to a sixth difference, as that of y does
_SIXTHS = 4.0  # unit: a turn times this compares to sixth differences: a kink's are 1.5 to 6 times its turn
# pattern: with this many nodes at which sixth differences exceed second ones, the grid is too coarse for forward.
_MIN_COARSE, _MARGIN = 4, 8  # The finer grid begins this many nodes before them (a sample).
_CROWD = 32  # pattern: with more than one suspect in this many cells, some may hide others
_MAX_POINTS, _MAX_POINTS_EXPENSIVE = 256, 64  # budget: the most special points; more than that are noise
# budget: where the grid is too coarse: the most points of a finer one, and its points per cell.
_FINE_POINTS, _FINE_PER_CELL = 8192, 64
# budget: the parts that an interval is cut into, in the first pass and in later ones; of all together; the fewest.
_PARTS, _LATER_PARTS, _MAX_PARTS, _MIN_PARTS = 1024, 512, 4096, 32
_PARTS_EXPENSIVE, _LATER_PARTS_EXPENSIVE = 64, 16  # budget: the same where each point needs a call of its own
_PASSES = 20  # budget: the most times that an interval is cut down
_MIN_WIDTH, _MIN_WIDTH_EXPENSIVE = 1e-13, 1e-7  # budget: in cells, the width down to which intervals are narrowed
# sample: the lines on the two sides of a kink go through points so many parts apart, and it is looked for at least this
# share of an interval around where they cross.
_SIDE, _CROSSING_WIDTH = 32, 1e-8
_SMOOTH = 1 / 10  # pattern: a smooth bend loses sharpness to this fraction on a grid a hundred times finer


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

    at = at_rows

    def and_also(self, other: SingularityCandidates) -> SingularityCandidates:
        """These followed by the ``other`` ones."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return SingularityCandidates(*map(np.concatenate, pairs))

    def sharpest(self, most: int) -> SingularityCandidates:
        """The ``most`` sharpest ones, in their order."""
        if self.low.size <= most:
            return self
        return self.at(np.sort(np.argsort(-self.sharp, kind="stable")[:most]))


@dataclass(frozen=True)
class CandidateGrids:
    """Columns of grids ``x``, on which forward has the values ``y`` (both nodes × columns), and the picture's scales.

    ``rise`` and ``visible`` are the rise and the mean slope of the picture, which set the scale of what is visible.
    """

    x: Array
    y: Array
    precision: float
    rise: float
    visible: float

    @cached_property
    def run(self) -> Array:
        """The lengths of the cells."""
        return consecutive_differences(self.x)

    @cached_property
    def even(self) -> bool:
        """Whether there are sixth differences: many nodes, all the same distance apart."""
        run = np.ascontiguousarray(self.run.T).T  # many columns are slow to be reduced row by row
        longest = run.max(axis=0)
        return len(run) >= 2 * _SIXTH and bool(((longest - run.min(axis=0)) < ALIKE_SHARE * longest).all())

    @cached_property
    def sixth(self) -> Array:
        """The magnitude of the sixth differences, at all nodes but three at either end."""
        y = self.y
        for _ in range(_SIXTH // 2):
            y = y[2:] - 2 * y[1:-1] + y[:-2]
        return np.abs(y)

    @cached_property
    def loud(self) -> Mask:
        """Where a sixth difference is more than rounding, and more than what is invisible."""
        x, y, cell = self.x, self.y, self.run[0]
        invisible = np.minimum(4 * ALIKE_SHARE * self.visible * cell, 10 * ALIKE_SHARE * self.rise)
        if self.sixth.max() <= invisible.min():
            return np.zeros(self.sixth.shape, bool)
        share = _SIXTH_SHARE + MANY_ULPS * self.precision * np.abs(x[3:-3]) / cell
        floor = invisible + MANY_ULPS * self.precision * np.abs(y[3:-3]) + share * np.abs(y[4:-2] - y[2:-4])
        return self.sixth > floor

    def loud_beside(self, known: Array, cells: int) -> bool:
        """Whether that is so anywhere but so many cells around the places ``known``."""
        return self.even and bool(_unknown(self.loud, known, self.x, cells).any())


def find_candidates(grids: CandidateGrids, known: Array) -> SingularityCandidates:
    """The suspects on each column of the grids. The neighbourhoods of the places ``known`` are skipped."""
    x, y, precision, visible = grids.x, grids.y, grids.precision, grids.visible
    if len(x) < 8:
        return _NONE
    run, finite = grids.run, np.isfinite(y)
    slope = consecutive_differences(y) / run
    turn = np.abs(consecutive_differences(slope))
    suspect = np.zeros(x.shape, bool)
    suspect[1:-1] = turn > CLEARLY * largest_beside(turn, 3)
    suspect = _unknown(suspect, known, x, 1)
    if finite.all() and not (suspect.any() or grids.loud_beside(known, 3)):
        return _NONE
    size, sharp = np.abs(slope), np.zeros(x.shape)
    rounding = precision * (np.abs(y[1:-1]) + np.abs(x[1:-1]) * np.fmin(size[1:], size[:-1]))
    suspect[1:-1] &= turn > 16 * rounding / run[1:] + ALIKE_SHARE * visible
    sharp[1:-1] = _SIXTHS * turn
    if grids.even:
        sixth, loud = grids.sixth, grids.loud
        np.copyto(sharp[3:-3], sixth / run[0], where=np.isfinite(sixth))
        if loud.any():
            loud = _unknown(loud & (sixth > CLEARLY * largest_beside(sixth, *_SIXTH_APART)), known, x, 3)
            # The sixth difference of a kink between two nodes is largest at the neighbours of these nodes.
            for shift in (2, 3, 4):
                suspect[shift : shift - 6] |= loud
    if finite.all():
        return _intervals(x, suspect, sharp)
    isolated = _isolated(finite)
    suspect = (suspect & finite) | isolated
    sharp[isolated] = np.inf
    return _intervals(x, suspect, sharp).and_also(_edges(x, finite | isolated, known))


def unresolved_range(grid: CandidateGrids, candidates: SingularityCandidates, known: Array) -> Array:
    """The part ``[low, high]`` of a single grid that is too coarse to resolve forward; empty if none is."""
    if not (grid.even and (candidates.low.size or grid.loud_beside(known, 4))):
        return np.empty(0)
    x, run, sixth, loud = (each[:, 0] for each in (grid.x, grid.run, grid.sixth, grid.loud))
    second = np.abs(consecutive_differences(consecutive_differences(grid.y[:, 0])))
    coarse = (sixth > second[2:-2]) & (sixth > np.fmax(second[1:-3], second[3:-1])) & loud & np.isfinite(sixth)
    inner = x[3:-3]
    for each in np.flatnonzero(candidates.high - candidates.low <= 16 * run[0]):
        coarse &= (inner < candidates.low[each] - 3 * run[0]) | (inner > candidates.high[each] + 3 * run[0])
    nodes = np.flatnonzero(_unknown(coarse[:, None], known, grid.x, 4)) + 3
    if candidates.low.size * _CROWD > x.size:
        nodes = np.concatenate((np.searchsorted(x, candidates.low), nodes, np.searchsorted(x, candidates.high)))
        nodes.sort()
    if nodes.size < _MIN_COARSE:
        return np.empty(0)
    return np.array([x[max(nodes[0] - _MARGIN, 0)], x[min(nodes[-1] + _MARGIN, x.size - 1)]])


def largest_beside(values: Array, *distances: int) -> Array:
    """The largest of the values at these distances on either side, with 0 beyond the ends."""
    reach = max(distances)
    padded = np.zeros((values.shape[0] + 2 * reach, *values.shape[1:]))
    padded[reach:-reach] = values
    size = values.shape[0]
    largest = np.zeros(values.shape)
    for each in distances:
        np.fmax(largest, padded[reach - each : reach - each + size], out=largest)
        np.fmax(largest, padded[reach + each : reach + each + size], out=largest)
    return largest


def _unknown(suspect: Mask, known: Array, x: Array, cells: int) -> Mask:
    """Those of the suspect nodes, in the middle of all, that are not within so many cells of a known place."""
    if not known.size or x.shape[1] > 1:
        return suspect
    near, left_out = np.zeros(x.shape, bool), (len(x) - len(suspect)) // 2
    at = np.searchsorted(x[:, 0], known)[:, None] + np.arange(-cells - 1, cells + 1)
    near[np.minimum(np.maximum(at, 0), x.shape[0] - 1)] = True
    return suspect & ~near[left_out : len(x) - left_out]


def _intervals(x: Array, suspect: Mask, sharp: Array) -> SingularityCandidates:
    """Intervals of neighbouring suspect nodes, with the cells on either side.

    Nodes up to two apart belong together: a jump through a node with a value of its own, as sign's, turns on either
    side of that node only.
    """
    if not suspect.any():
        return _NONE
    column, node = np.nonzero(suspect.T)
    apart = (consecutive_differences(node) > 2) | (consecutive_differences(column) > 0)
    starts = np.concatenate(([0], np.flatnonzero(apart) + 1))
    ends = np.concatenate((starts[1:], [node.size])) - 1
    sharpest = np.maximum.reduceat(sharp[node, column], starts)
    column = column[starts]
    low = x[np.maximum(node[starts] - 1, 0), column]
    high = x[np.minimum(node[ends] + 1, x.shape[0] - 1), column]
    return SingularityCandidates(low, high, np.zeros(low.size, bool), sharpest, column)


def _isolated(finite: Mask) -> Mask:
    """Single nodes without a value, between nodes that have one."""
    isolated = np.zeros(finite.shape, bool)
    isolated[1:-1] = ~finite[1:-1] & finite[2:] & finite[:-2]
    return isolated


def _edges(x: Array, finite: Mask, known: Array) -> SingularityCandidates:
    """The cells in which the domain of forward ends, with the cells next to them."""
    column, node = np.nonzero((finite[1:] != finite[:-1]).T)
    low, high = x[np.maximum(node - 1, 0), column], x[np.minimum(node + 2, x.shape[0] - 1), column]
    found = SingularityCandidates(low, high, np.ones(low.size, bool), np.full(low.size, np.inf), column)
    return found.at(~((known[:, None] >= low) & (known[:, None] <= high)).any(axis=0))


# unit: no candidates.
_NONE = SingularityCandidates(np.empty(0), np.empty(0), np.empty(0, bool), np.empty(0), np.empty(0, np.intp))


@dataclass(frozen=True)
class SingularitySearch:
    """The forward to search, and the scales of its picture: ``cell`` of the grid, ``rise`` and ``visible`` slope."""

    forward: Forward
    precision: float
    cell: float
    rise: float
    visible: float
    cheap: bool
    jumps_only: bool

    def values(self, points: Array) -> Array:
        """The forward at points of any shape."""
        return self.forward(points.ravel()).reshape(points.shape)

    def search(self, x: Array, y: Array, known: Array) -> SingularityCandidates:
        """The suspects on the grid ``x`` that are not ``known``, each narrowed until it sinks into the rounding."""
        grid = self._grids(x[:, None], y[:, None])
        found = find_candidates(grid, known)
        if self.cheap:
            found = self._refined(found, grid, known)
        if not found.low.size:
            return found
        found = self._still_sharp(found.sharpest(_MAX_POINTS if self.cheap else _MAX_POINTS_EXPENSIVE))
        return self._narrow(found) if found.low.size else found

    def _grids(self, x: Array, y: Array) -> CandidateGrids:
        return CandidateGrids(x, y, self.precision, self.rise, self.visible)

    def _refined(self, found: SingularityCandidates, grid: CandidateGrids, known: Array) -> SingularityCandidates:
        """The suspects, with those of a finer grid where this one is too coarse."""
        coarse = unresolved_range(grid, found, known)
        if not coarse.size:
            return found
        low, high = coarse
        points = np.linspace(low, high, int(min(_FINE_POINTS, _FINE_PER_CELL * (high - low) / self.cell)))
        finer = find_candidates(self._grids(points[:, None], self.values(points)[:, None]), known)
        if finer.low.size > _MAX_POINTS:
            return found
        return found.at((found.high < low) | (found.low > high)).and_also(finer)

    def _still_sharp(self, found: SingularityCandidates) -> SingularityCandidates:
        """The suspects inside the intervals, if still sharp on a finer grid."""
        parts = self._part_count(found.low.size, _PARTS, _PARTS_EXPENSIVE)
        points = _subdivide(found.low, found.high, parts)
        inside = find_candidates(self._grids(points, self.values(points)), np.empty(0))
        before, least = found.sharp[inside.column], CLEARLY if self.jumps_only and parts == _PARTS else _SMOOTH
        inside = inside.at((inside.sharp >= least * before) | np.isinf(before))
        return inside if inside.low.size <= _MAX_POINTS else inside.sharpest(0)

    def _narrow(self, found: SingularityCandidates) -> SingularityCandidates:
        """Each interval, repeatedly cut down to the two parts between which forward bends most.

        An interval whose bend is below the rounding stays as it is. At a kink the lines on its two sides cross, and so
        it is looked for right beside their crossing first.
        """
        parts = self._part_count(found.low.size, _LATER_PARTS, _LATER_PARTS_EXPENSIVE)
        low, high, column = found.low, found.high, np.arange(found.low.size)
        narrowest = np.full(low.size, self.cell * (_MIN_WIDTH if self.cheap else _MIN_WIDTH_EXPENSIVE))
        start, stop, guessed, tried = low, high, np.zeros(low.size, bool), found.edge
        for _ in range(_PASSES):
            wide = high - low > np.maximum(narrowest, 4 * np.spacing(np.maximum(np.abs(low), np.abs(high))))
            if not wide.any():
                break
            points = _subdivide(start, stop, parts)
            values = self.values(points)
            at, until, bent = self._sharpest(points, values, found.edge)
            bent &= wide
            if not (bent | guessed & wide).any():
                break
            low = np.where(bent, points[at, column], low)
            high = np.where(bent, points[until, column], high)
            start, stop, guessed = low, high, bent & ~tried
            if guessed.any():
                crossing, angle, rounding, curved = self._crossing(points, values, at, until)
                # Cut into as many parts again, it is to bend more than rounding in one of them: no narrower one does.
                least = parts * FEW_ULPS * rounding / angle
                width = _CROSSING_WIDTH * (high - low) + least + curved / angle
                guessed &= (crossing - width > low) & (crossing + width < high)
                tried = tried | guessed
                start, stop = np.where(guessed, crossing - width, low), np.where(guessed, crossing + width, high)
        return SingularityCandidates(low, high, found.edge, found.sharp, found.column)

    def _sharpest(self, points: Array, values: Array, edge: Mask) -> tuple[NDArray[np.intp], NDArray[np.intp], Mask]:
        """The points between which each column bends most, or its domain ends; is that more than rounding."""
        column = np.arange(points.shape[1])
        bend = _local_bend(values)
        at = bend.argmax(axis=0)
        sharpest, until = bend[at, column], at + 2
        slope = np.fmax(np.abs(values[1] - values[0]), np.abs(values[-1] - values[-2])) / (points[1] - points[0])
        rounding = self.precision * (np.abs(values[at + 1, column]) + np.abs(points[0]) * slope)
        bent = (sharpest > FEW_ULPS * rounding) | np.isinf(sharpest)
        if edge.any():
            finite = np.isfinite(values)
            ends = (finite[1:] != finite[:-1]).argmax(axis=0)
            at, until = np.where(edge, ends, at), np.where(edge, ends + 1, until)
            bent |= edge
        return at, until, bent

    def _crossing(
        self, points: Array, values: Array, at: NDArray[np.intp], until: NDArray[np.intp]
    ) -> tuple[Array, Array, Array, Array]:
        """Where the lines on the two sides of the bend in each column cross, their angle, their rounding and curve."""
        nodes = np.stack((at - 2 * _SIDE, at - _SIDE, at, until, until + _SIDE, until + 2 * _SIDE))
        nodes = np.clip(nodes, 0, len(points) - 1)
        x, y = (each[nodes, np.arange(at.size)] for each in (points, values))
        further_left, left, _, right, further_right = slopes = consecutive_differences(y) / consecutive_differences(x)
        width, angle = x[3] - x[2], np.abs(left - right)
        crossing = x[2] + (y[3] - y[2] - right * width) / (left - right)
        rounding = self.precision * (np.abs(y[2]) + np.abs(x[2]) * np.abs(slopes).max(axis=0))
        curved = (np.abs(left - further_left) + np.abs(right - further_right)) * width
        return crossing, angle, rounding, curved

    def _part_count(self, intervals: int, most: int, if_dear: int) -> int:
        return max(_MIN_PARTS, min(most, _MAX_PARTS // intervals)) if self.cheap else if_dear


def _subdivide(low: Array, high: Array, parts: int) -> Array:
    points = low + (high - low) * unit_shares(parts)
    points[-1] = high
    return points


def _local_bend(values: Array) -> Array:
    """The second difference at every inner value, less the curvature around it.

    That is the smaller of the second differences three places away on either side, or of two on one side near an end.
    """
    bend = np.abs(values[:-2] - 2 * values[1:-1] + values[2:])
    finite = np.isfinite(bend)
    if not finite.all():
        bend[~finite] = 0.0
    nearby = np.abs(bend[3:] - bend[:-3])
    first, last = np.abs(bend[6:9] - bend[:3]), np.abs(bend[-9:-6] - bend[-3:])
    excess = np.minimum(np.concatenate((first, nearby)), np.concatenate((nearby, last)))
    if not finite.all():
        excess[~np.isfinite(values[1:-1]) & np.isfinite(values[2:]) & np.isfinite(values[:-2])] = np.inf
    return excess
