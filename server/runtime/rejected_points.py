"""The few single points at which forward raises, told apart from a forward that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np

from .arrays import Array
from .failure import REFUSED, FunctionFailed

_T = TypeVar("_T")

# So many points may be refused, and no more than one of so many that are asked for.
_MOST, OF = 8, 8
# The value at one of them.
NOTHING = np.array([np.nan])


def spared(ask: Callable[[slice], _T], chunks: Iterable[slice], blank: _T) -> list[_T]:
    """What ``ask`` says of every chunk of points, in order, and ``blank`` of a single point at which forward raises.

    A chunk that fails is halved until the point is found. Raises ``FunctionFailed`` where more than a few points fail,
    where it is not a point that does but so many at once, and where forward did not raise.
    """
    chunks = list(chunks)
    left = min(_MOST, sum(each.stop - each.start for each in chunks) // OF)

    def parts(part: slice) -> Iterator[_T]:
        nonlocal left
        try:
            found = ask(part)
        except FunctionFailed as error:
            if not left or error.failure.phase in ("backward", "double backward") or error.failure.kind in REFUSED:
                raise
            if part.stop - part.start == 1:
                left -= 1
                yield blank
                return
            middle, before = (part.start + part.stop) // 2, left
            halves = [*parts(slice(part.start, middle)), *parts(slice(middle, part.stop))]
            if left == before:
                raise
            yield from halves
        else:
            yield found

    return [found for chunk in chunks for found in parts(chunk)]


def refused(forward: Callable[[Array], Array], x: Array, values: Array) -> tuple[tuple[float, str], ...]:
    """Those of the points ``x`` without a value at which ``forward`` raises, and what, in a few words."""
    found, lost = [], np.flatnonzero(np.isnan(values))
    for row in lost if lost.size <= _MOST else []:
        try:
            forward(x[[row]])
        except FunctionFailed as error:
            found.append((float(x[row]), error.failure.brief))
    return tuple(found)
