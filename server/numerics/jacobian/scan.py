"""A quick scan of a Jacobian too large to draw: one central difference a column, then a closer look at the suspects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ...runtime.arrays import EPSILON, Array, largest_magnitude
from ...runtime.batching import seconds_per_copy
from ...runtime.failure import FunctionFailed
from ...runtime.stacked_inputs import BATCH_ELEMENTS, Indices, InputCopies
from ..differentiation.finite_differences import EVIDENCE_BOUNDS
from ..differentiation.map_slopes import BasePoint, slopes_along
from ..status import Status
from ..tolerance import Allowance, tolerance_for
from .cell_status import DifferingCell, Labels, judge_jacobian_cells

_MAX_CELLS = 1 << 21  # budget: the most cells that are scanned; eight bytes each
_MAX_OUTPUTS = 1 << 14  # budget: the most elements of the output: more would need too much memory for the noise probes
_STEP = 1e-5  # sample: the step of the one difference, as a share of the range; how wrong that makes it is measured
# budget: random directions in which the differences are tried: one may miss an error, that four do is hardly possible.
_DIRECTIONS = 4
# bound: errors below this share of the largest slope are ignored, and slopes by a direction have to be known to it.
_MIN_ERROR = 1e-7
# budget: this many of the worst suspects, with their rows and columns, are measured as thoroughly as a block.
_SUSPECTS = 32


@dataclass(frozen=True)
class ScanResult:
    """What a look over all ``cells`` found: how many could be ``judged`` and in how many backward ``differs``.

    There are ``more`` of them where only some of the suspects were measured again.
    """

    cells: int
    judged: int
    differs: int
    more: bool
    worst: DifferingCell | None


@dataclass(frozen=True)
class JacobianScan:
    """A look over all cells: what the backward of ``copies`` returns for ``grad_output``, and what is allowed of it.

    ``labels`` are the names of rows and columns.
    """

    copies: InputCopies
    grad_output: float
    labels: Labels
    allowance: Allowance

    def against(self, reference: InputCopies, span: float, seconds: float) -> ScanResult | None:
        """What is to be said of all cells, from differences of a ``reference``.

        None where there are too many, where it would take longer than these ``seconds``, and where forward is too rough
        or nothing is returned.
        """
        here, size = self.copies.here.size, self.copies.size
        calls = 2 * here + 3 * size
        if here * size > _MAX_CELLS or size > _MAX_OUTPUTS or calls * seconds_per_copy(self.copies) > seconds:
            return None
        ground = BasePoint.of(reference, span)
        if not ground.deterministic or ground.precision != EPSILON:
            return None
        try:
            off = self.copies.rows(np.arange(size), self.grad_output).gradients
        except FunctionFailed:
            return None
        if off is None:
            return None
        off /= self.grad_output
        least = (tolerance_for(1.0, self.allowance.dtype).rtol + _MIN_ERROR) * largest_magnitude(off)
        return self._remeasured(ground, off, _deviations(ground, off) + least)

    def _remeasured(self, ground: BasePoint, off: Array, allowed: Array) -> ScanResult:
        """The suspects, measured again as thoroughly as a block is."""
        distance, judged = np.abs(off, out=off), np.isfinite(allowed)
        suspect = ~(distance <= allowed[:, None])
        suspect[~judged] = False
        count, cells = int(np.count_nonzero(suspect)), off.size
        right = ScanResult(cells, int(judged.sum()) * off.shape[1], 0, False, None)
        if not count:
            return right
        flat = np.flatnonzero(suspect)
        worst_first = np.argsort(-np.nan_to_num(distance.ravel()[flat], nan=np.inf), kind="stable")
        rows, columns = (np.unique(each) for each in np.unravel_index(flat[worst_first[:_SUSPECTS]], off.shape))
        gradients = self.copies.rows(rows, self.grad_output).gradients
        if gradients is None:
            return right
        returned = (gradients[:, columns] / self.grad_output).ravel()
        again = judge_jacobian_cells(ground, rows, columns, returned, self.allowance)
        differs, worst = int(again.where(Status.DIFFERS).sum()), again.worst(returned, (rows, columns), self.labels)
        more = count > np.count_nonzero(suspect[np.ix_(rows, columns)])
        return replace(right, differs=differs, more=bool(more), worst=worst)


def single_differences(ground: BasePoint, some: Indices) -> Array:
    """The slopes of all outputs by ``some`` elements of ``wrt`` (elements × outputs), by one difference each."""
    here, step = ground.here, _STEP * ground.span
    points, place = np.empty((2 * some.size, here.size)), np.arange(some.size)
    points[:] = here
    above, below = here[some] + step, here[some] - step
    points[place, some], points[place + some.size, some] = above, below
    values = ground.outputs(points)
    slope = np.subtract(values[: some.size], values[some.size :], out=values[: some.size])
    slope /= (above - below)[:, None]
    return slope


def column_batches(ground: BasePoint) -> Iterator[Indices]:
    """All elements of ``wrt``, as many at a time as have room in a batch."""
    size = ground.here.size
    width = max(1, BATCH_ELEMENTS // (2 * size))
    for first in range(0, size, width):
        yield np.arange(first, min(first + width, size))


def _deviations(ground: BasePoint, returned: Array) -> Array:
    """Turns ``returned`` into its distance from the differences, and gives their error bound in each row.

    The bound is measured, not assumed: the differences, summed up along random directions, against the slope in that
    direction by a whole ladder.
    """
    here, outputs = ground.here.size, np.arange(returned.shape[0])
    directions = np.random.default_rng(3).standard_normal((here, _DIRECTIONS)) / np.sqrt(here)
    summed = np.zeros((returned.shape[0], _DIRECTIONS))
    for some in column_batches(ground):
        slope = single_differences(ground, some)
        summed += slope.T @ directions[some]
        returned[:, some[0] : some[-1] + 1] -= slope.T
    lines = [slopes_along(ground, each, outputs) for each in directions.T]
    value, error = (np.stack(each, axis=1) for each in zip(*((line.value, line.error) for line in lines), strict=True))
    value[~(error <= _MIN_ERROR * largest_magnitude(value))] = np.nan  # else it is not known
    apart = np.sqrt(here) * np.abs(summed - value)
    return EVIDENCE_BOUNDS * np.nan_to_num(apart.max(axis=1), nan=np.inf)
