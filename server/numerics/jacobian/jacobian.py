"""The Jacobian of one output tensor by one input tensor: the block of it that holds the two elements looked at."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch

from ...protocol.question import element_names
from ...runtime.arrays import EPSILON, Array
from ...runtime.batching import batched_rows, seconds_per_copy
from ...runtime.copies import Index, place_of
from ...runtime.failure import Failure, FunctionFailed, unless_backward_fails
from ...runtime.reference import reference_rows
from ...runtime.section import Section
from ...runtime.symmetric_inputs import swept_shape
from ..differentiation.map_slopes import BasePoint, Indices
from ..tolerance import Allowance
from .cell_status import JudgedCells, accept_symmetric_pairs, judge_jacobian_cells
from .scan import JacobianScan, ScanResult, returned_rows

# budget: the sides that a block may have; taken is the largest that is estimated to stay within the seconds.
_BLOCK_SIDES = (64, 16, 4, 1)
_SECONDS = 1.5  # budget: for the block, for the probes at its base point, and for the scan of the rest: each so long
_CALLS, _PROBES = 14, 121  # budget: calls for each row and column, forward and backward, and those of BasePoint.of


@dataclass(frozen=True)
class ElementRange:
    """Some neighbouring elements of a tensor: ``count`` of ``total``, from ``first`` on, flat in row-major order."""

    name: str
    shape: Index
    first: int
    count: int

    @property
    def total(self) -> int:
        """How many elements the tensor has."""
        return math.prod(self.shape)

    @property
    def elements(self) -> Indices:
        """The places of these elements."""
        return np.arange(self.first, self.first + self.count)

    def label(self, place: int) -> str:
        """What an element is called."""
        return element_names(self.name, self.shape, [place])[0]


@dataclass(frozen=True)
class Jacobian:
    """The block ``rows`` × ``across`` of ∂of/∂wrt; all arrays have that shape, all numbers are per ``grad_output``.

    ``returned`` is None where nothing goes back; ``none`` says that backward returned None. ``numerical`` is judged
    against forward, ``meant`` against the surrogate if there is one. ``elsewhere`` speaks of all of a Jacobian that is
    larger than the block. ``slow`` says that the block is small because a call takes so long, ``integer`` is the
    dtype of an output that no gradient can come from.
    """

    section: Section
    at: float
    rows: ElementRange
    across: ElementRange
    numerical: JudgedCells
    meant: JudgedCells | None
    returned: Array | None
    none: bool
    together: bool
    slow: bool
    deterministic: bool
    integer: str
    elsewhere: ScanResult | None
    failure: Failure | None

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns the block has."""
        return self.rows.count, self.across.count

    @property
    def whole(self) -> bool:
        """Whether the block is all there is."""
        return (self.rows.total, self.across.total) == self.shape


@np.errstate(all="ignore")
def jacobian(
    section: Section, span: float, grad_output: float = 1.0, atol: float | None = None, rtol: float | None = None
) -> Jacobian:
    """The block of the Jacobian that holds the section's ``of`` and ``wrt``, where all inputs are held.

    ``span`` is the range of ``wrt``, the scale of the differences, ``atol`` of what is returned for ``grad_output``.
    Raises ``FunctionFailed`` where forward fails.
    """
    allowance = Allowance(section.dtype, None if atol is None else atol / abs(grad_output), rtol)
    copies = batched_rows(section, span)
    reference = reference_rows(copies, span)
    taken = _CALLS * seconds_per_copy(copies)
    side = next((each for each in _BLOCK_SIDES if each * taken <= _SECONDS), _BLOCK_SIDES[-1])
    rows, columns = _block(section, copies, side)
    if not rows.count:
        raise copies.wrong(f"returned {section.of!r} of shape {list(rows.shape)}: it has no such element")
    (gradients, none), failure = unless_backward_fails(
        lambda: returned_rows(copies, rows.elements, grad_output), lambda: (None, False)
    )
    returned = None if gradients is None else gradients[:, columns.elements] / grad_output
    surrogate = _surrogate_copies(section, span, grad_output)

    def judged_against(one: Section) -> tuple[BasePoint, JudgedCells]:
        some = slice(rows.first, rows.first + rows.count)
        if _PROBES * seconds_per_copy(one) > _SECONDS:
            ground = BasePoint.plain(one, span, max(EPSILON, torch.finfo(one.dtype).eps / 2), some)
        else:
            ground = BasePoint.of(one, span, some)
        flat = None if returned is None else returned.ravel()
        judged = judge_jacobian_cells(ground, np.arange(rows.count), columns.elements, flat, allowance)
        return ground, judged if flat is None else accept_symmetric_pairs(section, columns.elements, flat, judged)

    ground, measured = judged_against(reference)
    whole = (rows.count, columns.count) == (rows.total, columns.total)
    elsewhere = None
    if not (whole or failure):
        scan = JacobianScan(copies, grad_output, (rows.label, columns.label), allowance)
        elsewhere = scan.against(surrogate or reference, span, _SECONDS)
    return Jacobian(
        section=section,
        at=float(copies.here[section.place]),
        rows=rows,
        across=columns,
        numerical=measured,
        meant=judged_against(surrogate)[1] if surrogate else None,
        returned=returned,
        none=none,
        together=bool(copies.stacked),
        slow=side < _BLOCK_SIDES[0],
        deterministic=ground.deterministic,
        integer=copies.integer,
        elsewhere=elsewhere,
        failure=failure,
    )


def _block(section: Section, copies: Section, side: int) -> tuple[ElementRange, ElementRange]:
    """The rows and columns of the block that holds the elements looked at, on a grid that does not move with them."""
    shape = tuple(copies.whole_output.shape)
    if math.prod(shape) == 1:
        shape = ()
    if len(section.of_index) != len(shape) or any(i >= n for i, n in zip(section.of_index, shape, strict=True)):
        return ElementRange(section.of, shape, 0, 0), ElementRange(section.wrt, swept_shape(section), 0, 0)
    rows = _block_range(section.of, shape, place_of(section.of_index, shape), side)
    return rows, _block_range(section.wrt, swept_shape(section), section.place, side)


def _block_range(name: str, shape: Index, place: int, side: int) -> ElementRange:
    first = side * (place // side)
    return ElementRange(name, shape, first, min(side, math.prod(shape) - first))


def _surrogate_copies(section: Section, span: float, grad_output: float) -> Section | None:
    """The copies of the surrogate, where there is one that this backward is meant to follow."""
    call = section.op.surrogate_for(section.wrt, grad_output)
    if call is None or section.sweeps_parameter:
        return None
    try:
        copies = batched_rows(replace(section, call=call, dtype=torch.float64, device="cpu"), span)
        return copies if copies.size == section.size else None
    except FunctionFailed:
        return None
