"""The linearity check with a random ``grad_output`` over a whole output tensor of several elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import torch

from ...runtime.arrays import Array
from ...runtime.failure import FunctionFailed
from ...runtime.section import Section
from ...runtime.vjp import Layout, MonitoredLayout, dense, expanded, strided, transposed
from .check import KERNEL_TOLERANCE, SUM_TOLERANCE, LawTest, LinearityTrial, violation_by_write
from .violation import Violation

_Given = Callable[[torch.Tensor], torch.Tensor]

# The number of elements passed at once to a Function that is otherwise evaluated one number at a time.
_SEVERAL = 7
_LARGER = 32.0


def tensorwise_violations(section: Section, x: Array, base: float, several: bool) -> Iterator[Violation | None]:
    """The violations for a random grad_output over the whole output, about as large as ``base``.

    ``several`` says that one copy of the output has more than one element. Raises ``FunctionFailed``.
    """
    t = x[[x.size // 2]] if several else x[np.linspace(0, x.size - 1, min(_SEVERAL, x.size)).astype(np.intp)]
    cut = section if several else replace(section, stacked=tuple(name for name, _ in section.inputs))
    one, other, equal = _random(1, base), _random(2, base), _equal(base)
    try:
        known = cut.vjp(t, one)
    except FunctionFailed:
        if several:
            raise
        return
    if known is None:
        return

    def ask(given: _Given, layout: Layout) -> Array:
        found = cut.vjp(t, lambda out: layout(given(out)))
        return np.zeros(known.shape) if found is None else found

    place = np.full(known.shape, t[0] if several else math.nan)
    trial, watched = LinearityTrial(ask, place, section.dtype, section.dtype), MonitoredLayout()
    yield trial.broken("repeats", LawTest(one, math.nan, known, layout=watched))
    yield (written := violation_by_write(watched, place, math.nan))
    yield trial.broken("odd", LawTest(_times(-1.0, one), math.nan, known, -1.0))
    places, sums = KERNEL_TOLERANCE[section.dtype.itemsize], SUM_TOLERANCE[section.dtype.itemsize]
    yield trial.broken("scales", LawTest(_times(_LARGER, one), math.nan, known, _LARGER, sums))
    both = known + ask(other, dense)
    yield trial.broken("adds", LawTest(lambda out: one(out) + other(out), math.nan, both, 1.0, sums))
    if not written:
        for layout in (strided, transposed):
            yield trial.broken("layout", LawTest(one, math.nan, known, 1.0, places, layout))
        yield trial.broken("layout", LawTest(equal, base, ask(equal, dense), 1.0, places, expanded))


def _random(seed: int, base: float) -> _Given:
    def given(out: torch.Tensor) -> torch.Tensor:
        numbers = base * np.random.default_rng(seed).standard_normal(tuple(out.shape))
        return torch.as_tensor(numbers).to(out.device, out.dtype)

    return given


def _equal(base: float) -> _Given:
    return lambda out: torch.full(out.shape, base, dtype=out.dtype, device=out.device)


def _times(factor: float, given: _Given) -> _Given:
    return lambda out: factor * given(out)
