"""A quick scan of a Jacobian too large to draw: rows along random lines, then all cells of those that seem wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...runtime.arrays import EPSILON, Array, Mask, largest_magnitude
from ...runtime.batching import seconds_per_copy
from ...runtime.failure import FunctionFailed
from ...runtime.section import Section
from ..differentiation.finite_differences import EVIDENCE_BOUNDS, PointKind
from ..differentiation.map_slopes import BasePoint, Indices, random_direction, slopes_along
from ..sampling.grid import LOOKED_AT_CLOSER
from ..status import Status
from ..tolerance import Allowance, relative_tolerance
from .cell_status import RANDOM_LINES, DifferingCell, Labels, judge_jacobian_cells

_MAX_CELLS = 1 << 21  # budget: the most cells that are scanned; eight bytes each
_MAX_OUTPUTS = 1 << 14  # budget: the most elements of the output: more would need too much memory for the noise probes
# bound: errors below this share of a row are ignored, and slopes along a line have to be known to that of the largest.
_MIN_ERROR = 1e-7
# budget: this many cells of the worst rows are measured as thoroughly as a block.
_MAX_REMEASURED = 1 << 16


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

    copies: Section
    grad_output: float
    labels: Labels
    allowance: Allowance

    def against(self, reference: Section, span: float, seconds: float) -> ScanResult | None:
        """What is to be said of all cells, from differences of a ``reference``.

        None where there are too many, where it would take longer than these ``seconds``, and where forward is too rough
        or nothing is returned.
        """
        here, size = self.copies.here.size, self.copies.size
        calls = 8 * here + 3 * size
        if here * size > _MAX_CELLS or size > _MAX_OUTPUTS or calls * seconds_per_copy(self.copies) > seconds:
            return None
        ground = BasePoint.of(reference, span)
        if not ground.deterministic or ground.precision != EPSILON:
            return None
        try:
            off, _ = returned_rows(self.copies, np.arange(size), self.grad_output)
        except FunctionFailed:
            return None
        if off is None:
            return None
        off /= self.grad_output
        known, distance = _along_lines(ground, off, relative_tolerance(self.allowance.dtype) + _MIN_ERROR)
        right = ScanResult(off.size, int(known.sum()) * here, 0, False, None)
        suspects = np.flatnonzero(known & (distance > 1))
        if not suspects.size:
            return right
        most = max(1, min(LOOKED_AT_CLOSER, _MAX_REMEASURED // here))
        rows, columns = np.sort(suspects[np.argsort(-distance[suspects], kind="stable")[:most]]), np.arange(here)
        returned = off[rows].ravel()
        again = judge_jacobian_cells(ground, rows, columns, returned, self.allowance)
        differs, worst = int(again.where(Status.DIFFERS).sum()), again.worst(returned, (rows, columns), self.labels)
        return replace(right, differs=differs, more=suspects.size > rows.size, worst=worst)


def returned_rows(copies: Section, outputs: Indices, grad_output: float) -> tuple[Array | None, bool]:
    """Rows of the analytical Jacobian: ``grad_input`` for ``grad_output`` at each of these outputs alone.

    They are (outputs × elements of ``wrt``), None for a parameter, and where the output carries no gradient; and
    whether backward returned None. Raises ``FunctionFailed``.
    """
    parts: list[Array] = []
    none, size = False, copies.most_rows
    for some in np.split(outputs, range(size, outputs.size, size)):
        given = np.zeros((some.size, copies.size))
        given[np.arange(some.size), some] = grad_output
        returned = copies.backward(np.tile(copies.here, (some.size, 1)), given)
        if returned.grad_input is None:
            return None, False
        parts, none = [*parts, returned.grad_input], none or returned.none
    return parts[0] if len(parts) == 1 else np.concatenate(parts), none


def _along_lines(ground: BasePoint, returned: Array, share: float) -> tuple[Mask, Array]:
    """Which rows forward can be held against, and how far off what was ``returned`` is at most, by what is allowed.

    Allowed are the error bound of the slope along a line, and this ``share`` of the row.
    """
    known, distance = np.ones(len(returned), bool), np.zeros(len(returned))
    least = share * np.linalg.norm(returned, axis=1)
    for seed in range(RANDOM_LINES):
        direction = random_direction(ground.here.size, 11 + seed)
        line = slopes_along(ground, direction, np.arange(len(returned)))
        known &= (line.kind == PointKind.SMOOTH) & (line.error <= _MIN_ERROR * largest_magnitude(line.value))
        off = np.abs(returned @ direction - line.value) / (least + EVIDENCE_BOUNDS * line.error)
        distance = np.maximum(distance, np.nan_to_num(off, nan=np.inf, posinf=np.inf))
    return known, distance
