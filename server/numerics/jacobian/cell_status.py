"""The status of every cell of a Jacobian: what backward returned against the numerical slope."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Array, Mask, largest_magnitude
from ...runtime.section import Section
from ...runtime.symmetric_inputs import mirrored_index, swept_shape
from ..differentiation.finite_differences import EVIDENCE_BOUNDS, PointKind, Slopes, remeasure
from ..differentiation.map_slopes import (
    BasePoint,
    Indices,
    forward_of_cells,
    jacobian_slopes,
    partials_add_up,
    random_direction,
    slopes_along,
    steepest_per_output,
)
from ..differentiation.other_sign import goes_the_other_way
from ..status import Status
from ..tolerance import ALIKE_SHARE, Allowance, Allowed, Tolerance
from ..verdict.slope_judge import judge_slopes, without_remarks

_Places = NDArray[np.intp]
RANDOM_LINES = 4  # budget: random lines along which an output of a large Jacobian is tried: one may miss an error
Labels = tuple[Callable[[int], str], Callable[[int], str]]  # the names of rows and columns


@dataclass(frozen=True)
class DifferingCell:
    """A cell by the names of its elements, and what both say of it; ``sides`` are the slopes beside a kink."""

    of: str
    wrt: str
    numerical: float
    returned: float
    sides: tuple[float, float] | None = None


@dataclass(frozen=True)
class JudgedCells:
    """The numerical slopes, and the status of backward in every cell against them."""

    slopes: Slopes
    status: NDArray[np.int8]
    tolerance: Tolerance

    def where(self, *statuses: int) -> NDArray[np.bool_]:
        """The cells with one of these statuses."""
        return np.isin(self.status, statuses)

    def worst(self, returned: Array, cells: tuple[Indices, Indices], labels: Labels) -> DifferingCell | None:
        """Of ``cells``, rows and columns, that in which what was ``returned`` is furthest off; None if none differs."""
        slopes, differs = self.slopes, self.where(Status.DIFFERS)
        if not differs.any():
            return None
        with np.errstate(all="ignore"):
            off = np.nan_to_num(np.abs(returned - slopes.value), nan=np.inf, posinf=np.inf)
        cell = int(np.where(differs, off, -1.0).argmax())
        row, column = divmod(cell, cells[1].size)
        of, wrt = labels[0](int(cells[0][row])), labels[1](int(cells[1][column]))
        sides = (float(slopes.left[cell]), float(slopes.right[cell])) if slopes.kind[cell] == PointKind.KINK else None
        return DifferingCell(of, wrt, float(slopes.value[cell]), float(returned[cell]), sides)


@np.errstate(all="ignore")
def judge_jacobian_cells(
    ground: BasePoint, rows: Indices, columns: Indices, returned: Array | None, allowance: Allowance
) -> JudgedCells:
    """Judge backward against the slopes of forward in the cells of these ``rows`` and ``columns``.

    The cells that seem to contradict them are measured again, and no verdict is given where forward is not
    deterministic.
    ``returned`` is per unit of ``grad_output``, one for each cell; None where nothing was.
    """
    slopes = jacobian_slopes(ground, rows, columns)
    height = largest_magnitude(ground.y) / ground.span
    tolerance = allowance.tolerance(max(largest_magnitude(slopes.value), height))
    if returned is None or not ground.deterministic:
        unknown = Status.GAP if returned is None else Status.UNDECIDED
        return JudgedCells(slopes, np.full(slopes.kind.shape, unknown, np.int8), tolerance)
    by, at = np.tile(ground.here[columns], rows.size), np.repeat(ground.y[rows], columns.size)
    doubtful = slopes.doubted_by(returned)
    if doubtful.size:
        forward = forward_of_cells(ground, rows, columns, doubtful)
        slopes = remeasure(forward, by, at, slopes, doubtful, steepest_per_output(slopes.value, columns.size)[doubtful])
    largest = largest_magnitude(slopes.value) + height
    status = judge_slopes(returned, slopes, 1.0, Allowed(tolerance), allowance.dtype, largest)
    if allowance.remarks:
        status = without_remarks(status, np.abs(returned - slopes.value), slopes.value)
    vague = np.flatnonzero((status == Status.UNDECIDED) & np.isfinite(returned) & (returned != 0))
    if vague.size:
        forward = forward_of_cells(ground, rows, columns, vague)
        other = goes_the_other_way(forward, by[vague], at[vague], returned[vague], slopes.at(vague))
        status[vague[other]] = Status.DIFFERS
    _acquit(ground, rows, columns, slopes, status)
    return JudgedCells(slopes, status, tolerance)


def _acquit(ground: BasePoint, rows: Indices, columns: Indices, slopes: Slopes, status: NDArray[np.int8]) -> None:
    """Set accused cells to undecided where an output has partial derivatives but is not differentiable."""
    accused = (status == Status.DIFFERS) & (slopes.kind == PointKind.SMOOTH)
    suspects = np.flatnonzero(accused.reshape(rows.size, -1).any(axis=1))
    if not suspects.size or columns.size == 1:
        return
    indices = np.arange(slopes.value.size).reshape(rows.size, -1)[suspects].ravel()
    consistent = partials_add_up(ground, rows[suspects], columns, slopes.at(indices))
    if columns.size < ground.here.size:
        consistent &= _moves_as_in_two_parts(ground, rows[suspects], columns)
    affected = np.isin(np.arange(status.size) // columns.size, suspects[~consistent])
    status[accused & affected] = Status.UNDECIDED


def _moves_as_in_two_parts(ground: BasePoint, rows: Indices, columns: Indices) -> Mask:
    """Whether outputs move along random lines as by the elements of the ``columns`` alone and by all others alone.

    Where values of both are tied, as in a sort, they do not, and have no gradient.
    """
    own, adds_up = np.isin(np.arange(ground.here.size), columns), np.ones(rows.size, bool)
    for seed in range(RANDOM_LINES):
        line = random_direction(ground.here.size, 21 + seed)
        parts = [slopes_along(ground, part, rows) for part in (np.where(own, line, 0.0), np.where(own, 0.0, line))]
        whole = slopes_along(ground, line, rows)
        for each in (*parts, whole):
            adds_up &= each.kind == PointKind.SMOOTH
        size, error = (
            sum(each) for each in zip(*((abs(each.value), each.error) for each in (*parts, whole)), strict=True)
        )
        off = np.abs(whole.value - parts[0].value - parts[1].value)
        adds_up &= off <= EVIDENCE_BOUNDS * error + ALIKE_SHARE * size
    return adds_up


def accept_symmetric_pairs(section: Section, columns: _Places, returned: Array, judged: JudgedCells) -> JudgedCells:
    """The same, but accused cells agree where backward shares between two columns what forward has in one of them.

    ``columns`` are elements of the input that is swept; ``returned`` has one number for each cell, row by row.
    """
    partner = _partners(section, columns)
    if not (partner >= 0).any() or not judged.where(Status.DIFFERS).any():
        return judged
    slopes, tolerance, shape = judged.slopes, judged.tolerance, (-1, columns.size)
    gradient, value, error = (each.reshape(shape) for each in (returned, slopes.value, slopes.error))
    smooth, cells = (slopes.kind == PointKind.SMOOTH).reshape(shape), judged.status.reshape(shape).copy()
    band = tolerance.atol + EVIDENCE_BOUNDS * error
    unread: Mask = np.all(np.abs(value) <= band, axis=0)
    nonzero: Mask = np.any(np.abs(gradient) > band, axis=0)  # what is laid into the wrong one of both is not shared
    pair = (partner >= 0) & (unread | unread[partner]) & nonzero & nonzero[partner]
    allowed = band + band[:, partner] + tolerance.rtol * np.abs(value + gradient)
    sums = np.abs(gradient + gradient[:, partner] - value - value[:, partner]) <= 2 * allowed
    cells[(cells == Status.DIFFERS) & pair & sums & smooth & smooth[:, partner]] = Status.AGREES
    return replace(judged, status=cells.ravel())


def _partners(section: Section, columns: _Places) -> _Places:
    """Among the columns, that of the element across the diagonal; −1 where there is none."""
    shape, place = swept_shape(section), {int(each): row for row, each in enumerate(columns)}
    partner = np.full(columns.size, -1)
    for row, each in enumerate(columns):
        other = mirrored_index(section, tuple(int(i) for i in np.unravel_index(each, shape))) if shape else ()
        if other:
            partner[row] = place.get(int(np.ravel_multi_index(other, shape)), -1)
    return partner
