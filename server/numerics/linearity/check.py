"""The check of a single law of linearity: one call of backward compared with the result that the law requires."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from ...runtime.arrays import Array, largest_magnitude
from ...runtime.failure import FunctionFailed
from ...runtime.vjp import Layout, MonitoredLayout, dense
from .violation import Law, Violation

G = TypeVar("G")

# Units in the last place for a repeated call and for a change of sign, neither of which adds rounding.
_LAST_PLACES = {8: 16.0, 4: 16.0, 2: 4.0}
# The relative tolerance for sums …
SUM_TOLERANCE = {8: 2.0**-20, 4: 2.0**-14, 2: 2.0**-4}
# … and for other magnitudes or memory layouts of grad_output, for which a different kernel may run.
KERNEL_TOLERANCE = {8: 2.0**-20, 4: 2.0**-8, 2: 2.0**-2}
# Within this factor of the largest number of the dtype, results may overflow on the way.
_ROOM = 16.0
# Deviations within this factor of the largest count as equally large.
_TIE = 0.999


@dataclass(frozen=True)
class LawTest(Generic[G]):
    """A grad_output, and the gradient that a linear backward must return for it: ``factor`` times the ``known`` one.

    ``quoted`` is that grad_output in numbers, ``rounding`` the tolerance relative to the largest number, and
    ``layout`` its memory layout.
    """

    given: G
    quoted: float | Array
    known: Array
    factor: float | Array = 1.0
    rounding: float = 0.0
    layout: Layout = dense


@dataclass(frozen=True)
class LinearityTrial(Generic[G]):
    """A backward to test: ``ask`` calls it with a grad_output; its results belong to the places ``x``.

    Its inputs are of ``dtype``; internally it computes in ``inside``.
    """

    ask: Callable[[G, Layout], Array]
    x: Array
    dtype: torch.dtype
    inside: torch.dtype

    def keeps(self, question: LawTest[G]) -> bool:
        """Whether backward returns the required gradient."""
        try:
            found = self.ask(question.given, question.layout)
        except FunctionFailed:
            return False
        return np.array_equal(found, question.known * question.factor) or not self._off(found, question).any()

    def broken(self, law: Law, question: LawTest[G]) -> Violation | None:
        """The finding if backward does not return the required gradient.

        If a second identical call gives another result, only the law ``repeats`` is broken.
        """
        layout = question.layout.__name__ if law == "layout" else ""
        try:
            found, expected = self.ask(question.given, question.layout), question.known * question.factor
            if np.array_equal(found, expected) or not (off := self._off(found, question)).any():
                return None
            again = self.ask(question.given, question.layout)
        except FunctionFailed as error:
            return violation_by_exception(law, error, question.quoted, layout)
        same = replace(question, known=found, factor=1.0, rounding=0.0)
        if law != "repeats" and (differs := self._off(again, same)).any():
            law, found, expected, off, layout = "repeats", again, found, differs, ""
        row = _worst(np.abs((found - expected) / question.factor), off)
        at = float(np.broadcast_to(question.quoted, found.shape)[row])
        return Violation(law, float(self.x[row]), at, float(found[row]), float(expected[row]), "", layout)

    def _off(self, found: Array, question: LawTest[G]) -> NDArray[np.bool_]:
        """Where ``found`` is wrong by more than rounding, underflow or the overflow of larger numbers explain."""
        info, known, factor = torch.finfo(self.dtype), question.known, question.factor
        allowed = max(question.rounding, _LAST_PLACES[self.dtype.itemsize] * info.eps)
        size, times = np.abs(known), np.abs(factor)
        slack = allowed * (size + largest_magnitude(known)) + torch.finfo(self.inside).tiny / times
        off = (size * times < info.max / _ROOM) & ~(np.abs(found / factor - known) <= slack)
        return off & (np.isfinite(found) | (times <= 1))


def _worst(far: Array, off: NDArray[np.bool_]) -> int:
    """The row with the largest deviation; among equal ones the middle one."""
    far = np.where(off, np.where(np.isfinite(far), far, np.inf), -1.0)
    ties = np.flatnonzero(far >= _TIE * far.max())
    return int(ties[ties.size // 2])


def violation_by_exception(law: Law, error: FunctionFailed, quoted: float | Array, layout: str = "") -> Violation:
    """The finding for a backward that raised where a law was tested."""
    said = f"{error.failure.kind}: {error.failure.message.splitlines()[0]}"
    at = float(quoted) if np.ndim(quoted) == 0 else math.nan
    return Violation(law, math.nan, at, math.nan, math.nan, said, layout)


def violation_by_write(watched: MonitoredLayout, x: Array, quoted: float) -> Violation | None:
    """The finding for a backward that has modified its grad_output in place, None if it has not."""
    if not watched.written:
        return None
    then, now = watched.numbers()
    row = int(np.argmax(np.abs(now - then)))
    place = float(x[row]) if then.size == x.size else math.nan
    return Violation("untouched", place, quoted, float(now[row]), float(then[row]))
