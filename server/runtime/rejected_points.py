"""Rejected points: the few single points at which forward raises, in contrast to a forward that fails altogether."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from .arrays import Array
from .failure import REJECTED_KINDS, FunctionFailed

_T = TypeVar("_T")

# budget: at most this many points may be rejected, and at most one in this many.
_MAX_REJECTED, _POINTS_PER_REJECTED = 8, 8
MISSING_VALUE = np.array([np.nan])  # at a rejected point


def skip_rejected(evaluate: Callable[[slice], _T], chunks: Sequence[slice], blank: _T | None) -> list[_T]:
    """``evaluate`` for every chunk of points, in order, with ``blank`` for each single point at which forward raises.

    A failing chunk is bisected down to the point. Raises ``FunctionFailed`` where there is no ``blank``, where more
    than a few points fail, where only the whole chunk fails and no single point does, and where the failure is not an
    exception of forward.
    """
    found: list[_T] = []
    left = min(_MAX_REJECTED, chunks[-1].stop // _POINTS_PER_REJECTED) if chunks and blank is not None else 0

    def add(part: slice) -> None:
        nonlocal left
        try:
            found.append(evaluate(part))
        except FunctionFailed as error:
            failure = error.failure
            if not left or failure.phase in ("backward", "double backward") or failure.kind in REJECTED_KINDS:
                raise
            if part.stop - part.start == 1 and blank is not None:
                left -= 1
                found.append(blank)
                return
            middle, before = (part.start + part.stop) // 2, left
            add(slice(part.start, middle))
            add(slice(middle, part.stop))
            if left == before:
                raise

    for chunk in chunks:
        add(chunk)
    return found


def find_rejected(forward: Callable[[Array], Array], x: Array, values: Array) -> tuple[tuple[float, str], ...]:
    """The points among ``x`` without a value at which ``forward`` raises, each with the failure in a few words."""
    found, missing = [], np.flatnonzero(np.isnan(values))
    for row in missing if missing.size <= _MAX_REJECTED else []:
        try:
            forward(x[[row]])
        except FunctionFailed as error:
            found.append((float(x[row]), error.failure.brief))
    return tuple(found)
