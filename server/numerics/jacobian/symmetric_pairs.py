"""Jacobian columns of a symmetric matrix of which forward reads one triangle: a pair is right if its sum is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Array, Mask
from ...runtime.section import Section
from ..curve.symmetric_inputs import mirrored_index, swept_shape
from ..differentiation.finite_differences import EVIDENCE_BOUNDS, PointKind
from ..status import Status
from .cell_status import JudgedCells

_Indices = NDArray[np.intp]


def accept_symmetric_pairs(section: Section, columns: _Indices, returned: Array, judged: JudgedCells) -> JudgedCells:
    """The same, but accused cells agree where backward shares between two columns what forward has in one of them.

    ``columns`` are elements of the input that is swept; ``returned`` has one number for each cell, row by row.
    """
    partner = _partners(section, columns)
    if not (partner >= 0).any() or not judged.where(Status.DIFFERS).any():
        return judged
    slopes, tolerance, table = judged.slopes, judged.tolerance, (-1, columns.size)
    given, value, error = (each.reshape(table) for each in (returned, slopes.value, slopes.error))
    smooth, cells = (slopes.kind == PointKind.SMOOTH).reshape(table), judged.status.reshape(table).copy()
    band = tolerance.atol + EVIDENCE_BOUNDS * error
    unread: Mask = np.all(np.abs(value) <= band, axis=0)
    said: Mask = np.any(np.abs(given) > band, axis=0)  # what is laid into the wrong one of both is not shared
    pair = (partner >= 0) & (unread | unread[partner]) & said & said[partner]
    allowed = band + band[:, partner] + tolerance.rtol * np.abs(value + given)
    sums = np.abs(given + given[:, partner] - value - value[:, partner]) <= 2 * allowed
    cells[(cells == Status.DIFFERS) & pair & sums & smooth & smooth[:, partner]] = Status.AGREES
    return replace(judged, status=cells.ravel())


def _partners(section: Section, columns: _Indices) -> _Indices:
    """Among the columns, that of the element across the diagonal; −1 where there is none."""
    shape, place = swept_shape(section), {int(each): row for row, each in enumerate(columns)}
    partner = np.full(columns.size, -1)
    for row, each in enumerate(columns):
        other = mirrored_index(section, tuple(int(i) for i in np.unravel_index(each, shape))) if shape else ()
        if other:
            partner[row] = place.get(int(np.ravel_multi_index(other, shape)), -1)
    return partner
