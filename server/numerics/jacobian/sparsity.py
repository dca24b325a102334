"""The sparsity pattern of a Jacobian: zero, diagonal, triangular, block-diagonal by rows, dense."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Mask
from ..differentiation.finite_differences import EVIDENCE_BOUNDS, PointKind
from ..formatting.numbers import NOTHING
from .jacobian import Jacobian

_PATTERNS = {
    "zero": "No output moves with any input here.",
    "diagonal": "{it} is diagonal: no output depends on any input but its own.",
    "rows": "{it} is diagonal by rows: no row of {of} depends on any row of {wrt} but its own.",
    "lower": "{it} is triangular: no output depends on an input after its own.",
    "upper": "{it} is triangular: no output depends on an input before its own.",
    "dense": "{it} is dense: every output depends on every input.",
}

_OWN = ("diagonal", "rows", "lower", "upper")  # patterns by which an output may depend on its own input, or on none


def sparsity_pattern(jacobian: Jacobian) -> str:
    """The word for the numerical block: a key of ``_PATTERNS``; "sparse" if it is none, "" if it is one cell."""
    nonzero = dependence_mask(jacobian)
    if nonzero.size == 1 or not jacobian.deterministic:
        return ""
    if not nonzero.any():
        return "zero"
    row, column = element_positions(jacobian)
    if jacobian.rows.total == jacobian.across.total:
        for word, allowed in (("diagonal", row == column), ("lower", row >= column), ("upper", row <= column)):
            if not (nonzero & ~allowed).any() and (word != "diagonal" or allowed.any()):
                return word
    own = _same_row(jacobian, row, column)
    if own is not None and not (nonzero & ~own).any():
        return "rows"
    return "dense" if nonzero.all() else "sparse"


def sparsity_sentence(jacobian: Jacobian) -> str:
    """The pattern in a sentence; empty for one cell."""
    word, nonzero = sparsity_pattern(jacobian), dependence_mask(jacobian)
    if word == "sparse":
        return f"{np.count_nonzero(nonzero)} of {nonzero.size} cells are not 0."
    it = "It" if jacobian.whole else "This block"
    sentence = _PATTERNS.get(word, "").format(it=it, of=jacobian.rows.name, wrt=jacobian.across.name)
    still = int((~nonzero).all(axis=1).sum())
    alone = f" {still} of {len(nonzero)} outputs move with no input here." if still and word in _OWN else ""
    return sentence + alone


def dependence_mask(jacobian: Jacobian) -> Mask:
    """Where the output moves with the input; a cell that differences cannot tell counts as moving."""
    slopes = jacobian.numerical.slopes
    size = np.abs(slopes.value)
    largest = np.max(size, initial=0.0, where=np.isfinite(size))
    zero = size <= np.maximum(NOTHING * largest, EVIDENCE_BOUNDS * slopes.error)
    sides = np.maximum(np.abs(slopes.left), np.abs(slopes.right))
    zero = np.where(slopes.kind == PointKind.KINK, sides <= NOTHING * largest, zero)
    return ~zero.reshape(jacobian.shape)


def element_positions(jacobian: Jacobian) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The place in its tensor of every row (as a column) and of every column (as a row)."""
    return jacobian.rows.elements[:, None], jacobian.across.elements[None, :]


def _same_row(jacobian: Jacobian, row: NDArray[np.intp], column: NDArray[np.intp]) -> Mask | None:
    """Whether output and input lie in the same row of their tensors; None where they have not as many, or only one."""
    of, wrt = jacobian.rows, jacobian.across
    if not (of.shape and wrt.shape) or of.shape[0] != wrt.shape[0] or wrt.shape[0] == 1:
        return None
    same: Mask = row // (of.total // of.shape[0]) == column // (wrt.total // wrt.shape[0])
    return None if same.all() else same
