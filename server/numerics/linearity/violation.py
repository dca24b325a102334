"""A violation of linearity: which law a backward breaks, with the numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...runtime.arrays import Array
from ...runtime.failure import FunctionFailed
from ...runtime.vjp import MonitoredLayout

Law = Literal["repeats", "untouched", "zero", "scales", "odd", "adds", "mixes", "layout", "batch"]


@dataclass(frozen=True)
class Violation:
    """A broken law at its worst point ``x``: the ``returned`` and the ``expected`` gradient for ``grad_output``.

    ``message`` is the exception if backward raised, ``layout`` the memory layout of grad_output where that matters. For
    "untouched", ``returned`` is the content of grad_output afterwards. NaN stands for what is not one number: a
    grad_output that was random over a whole tensor, the result of a backward that raised.
    """

    law: Law
    x: float
    grad_output: float
    returned: float
    expected: float
    message: str = ""
    layout: str = ""


def violation_by_exception(law: Law, error: FunctionFailed, value: float | Array, layout: str = "") -> Violation | None:
    """The finding for a backward that raised where a law was tested; None where forward did, before any law was."""
    if error.failure.phase == "forward":
        return None
    at = float(value) if np.ndim(value) == 0 else math.nan
    return Violation(law, math.nan, at, math.nan, math.nan, error.failure.raised, layout)


def violation_by_write(layout: MonitoredLayout, x: Array, grad_output: float) -> Violation | None:
    """The finding for a backward that has modified its grad_output in place, None if it has not."""
    if not layout.written:
        return None
    before, after = layout.numbers()
    row = int(np.argmax(np.abs(after - before)))
    x_at = float(x[row]) if before.size == x.size else math.nan
    return Violation("untouched", x_at, grad_output, float(after[row]), float(before[row]))
