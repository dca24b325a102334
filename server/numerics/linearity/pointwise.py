"""The linearity check with one number of ``grad_output`` at each point of a section."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch

from ...runtime.arrays import Array
from ...runtime.failure import FunctionFailed
from ...runtime.matrix_vjp import even_count, vjp_on_matrix
from ...runtime.section import Section
from ...runtime.vjp import Layout, MonitoredLayout, dense, expanded, strided, transposed
from ..differentiation.noise import mantissa_bits
from .check import KERNEL_TOLERANCE, SUM_TOLERANCE, LawTest, LinearityTrial, violation_by_write
from .violation import Violation

_Ask = LinearityTrial[float | Array]

# The powers of two by which all grad_outputs are scaled, and by which the random one at each point is scaled …
_FAR, _NEAR = 20, 10
# … and in half precision, which has a smaller range.
_FAR_IN_HALF, _NEAR_IN_HALF = 5, 3
# Random grad_outputs are drawn from this many powers of two on either side of 1.
_SPREAD = 3.0
# The mantissa bits of shorter dtypes.
_SHORTER = ((11, torch.float16), (24, torch.float32))


@dataclass(frozen=True)
class _Known:
    """The gradients that backward returned for ``base`` at every point, and for ``random`` numbers."""

    base: float
    of_base: Array
    random: Array
    of_random: Array


@dataclass(frozen=True)
class _Laid:
    """The trial for other memory layouts, and the layout for ``equal`` numbers and for ``any``."""

    trial: _Ask
    equal: Layout
    any: Layout


def pointwise_violations(
    section: Section, x: Array, base: float, of_base: Array | None, watched: MonitoredLayout
) -> Iterator[Violation | None]:
    """The violations at the points ``x``, where backward returned ``of_base`` for ``base``, if that is known.

    Repeatability comes first, because without it the other laws would seem broken too; ``watched`` is the layout of
    that call. Raises ``FunctionFailed`` where backward fails for a random grad_output.
    """

    def ask(given: float | Array, layout: Layout) -> Array:
        found = section.backward(x, given, layout).grad_input
        return np.zeros(x.shape) if found is None else found

    of_base = ask(base, dense) if of_base is None else of_base
    trial: _Ask = LinearityTrial(ask, x, section.dtype, section.dtype)
    yield trial.broken("repeats", LawTest(base, base, of_base, layout=watched))
    yield (written := violation_by_write(watched, x, base))
    yield trial.broken("zero", LawTest(0.0, 0.0, 0 * of_base))
    numbers, exponents = _drawn(x.size)
    random = section.snap(base * numbers)
    try:
        known = _Known(base, of_base, random, ask(random, dense))
    except FunctionFailed:
        yield trial.broken("odd", LawTest(-base, -base, of_base, -1.0))
        raise
    trial = replace(trial, inside=_inside(section.dtype, known.of_random))
    yield from _sizes(trial, known, exponents)
    elementwise = bool(section.stacked) and watched.size == x.size > 1
    yield from _signs_and_sums(trial, known, _laid(section, trial) if elementwise and not written else None)


def _sizes(trial: _Ask, known: _Known, exponents: Array) -> Iterator[Violation | None]:
    """Tests of ``scales`` and ``mixes``: one large factor for all, and another factor at each point."""
    far, near = _reach(trial)
    sums, large, powers = SUM_TOLERANCE[trial.inside.itemsize], 2.0**far, 2.0 ** np.round(near * exponents)
    yield trial.broken("scales", LawTest(large * known.base, large * known.base, known.of_base, large, sums))
    mixed = powers * known.random
    if finding := trial.broken("scales", LawTest(mixed, mixed, known.of_random, powers, sums)):
        yield replace(finding, law="mixes") if _mixes(trial, known, mixed) else finding


def _mixes(trial: _Ask, known: _Known, given: Array) -> bool:
    """Whether the gradient at every other point depends on the ``given`` grad_output at the points between."""
    try:
        answer = trial.ask(given, dense)
    except FunctionFailed:
        return False
    between = np.arange(given.size) % 2 == 1
    return not all(
        trial.keeps(LawTest(np.where(others, known.random, given), math.nan, np.where(others, np.nan, answer)))
        for others in (between, ~between)
    )


def _signs_and_sums(trial: _Ask, known: _Known, laid: _Laid | None) -> Iterator[Violation | None]:
    """Tests of ``odd``, ``scales`` and ``adds``; with ``laid`` also of ``layout``.

    One call tests several laws at once; only where it fails are they tested one by one.
    """
    base, of_base, random, of_random = known.base, known.of_base, known.random, known.of_random
    sheet, count = (trial, trial.x.size) if laid is None else (laid.trial, laid.trial.x.size)
    one, all_ = (dense, dense) if laid is None else (laid.equal, laid.any)
    small, sums = 2.0 ** -_reach(trial)[0], SUM_TOLERANCE[trial.inside.itemsize]
    both, of_both = base + random, of_base + of_random
    signs = sheet.keeps(LawTest(-small * base, math.nan, of_base[:count], -small, sums, one))
    if not signs:
        yield trial.broken("odd", LawTest(-base, -base, of_base, -1.0))
        yield trial.broken("scales", LawTest(small * base, small * base, of_base, small, sums))
        yield trial.broken("scales", LawTest(-small * base, -small * base, trial.ask(-base, dense), small, sums))
    added = sheet.keeps(LawTest(both[:count], math.nan, of_both[:count], 1.0, sums, all_))
    if not added:
        yield trial.broken("adds", LawTest(both, both, of_both, 1.0, sums))
    if laid and not (signs and added):
        yield from _layouts(trial, known, laid)


def _layouts(trial: _Ask, known: _Known, laid: _Laid) -> Iterator[Violation | None]:
    """Tests of ``layout``; without the 2 × n matrix where the Function does not accept one."""
    places, count = KERNEL_TOLERANCE[trial.inside.itemsize], laid.trial.x.size
    if not laid.trial.keeps(LawTest(known.random[:count], math.nan, known.of_random[:count], 1.0, places)):
        laid, count = _Laid(trial, expanded, strided), trial.x.size
    base, random = known.base, known.random[:count]
    yield laid.trial.broken("layout", LawTest(base, base, known.of_base[:count], 1.0, places, laid.equal))
    yield laid.trial.broken("layout", LawTest(random, random, known.of_random[:count], 1.0, places, laid.any))


def _laid(section: Section, trial: _Ask) -> _Laid:
    if section.copy_size > 1 or trial.x.size < 4:
        return _Laid(trial, expanded, strided)
    sheet = replace(trial, ask=vjp_on_matrix(section, trial.x), x=trial.x[: even_count(trial.x.size)])
    return _Laid(sheet, expanded, transposed)


def _reach(trial: _Ask) -> tuple[int, int]:
    return (_FAR_IN_HALF, _NEAR_IN_HALF) if trial.inside == torch.float16 else (_FAR, _NEAR)


def _inside(dtype: torch.dtype, answer: Array) -> torch.dtype:
    """The dtype that backward computes in: shorter than ``dtype`` if all its results have so few mantissa bits."""
    bits = mantissa_bits(answer) if dtype.itemsize > 2 else 0
    return next((short for most, short in _SHORTER if 1 < bits <= most), dtype)


@lru_cache(maxsize=16)
def _drawn(count: int) -> tuple[Array, Array]:
    """For every point a random number of either sign, and one from −1 to 1; the same ones in every call."""
    random = np.random.default_rng(count)
    size = 2 ** random.uniform(-_SPREAD, _SPREAD, count)
    return size * random.choice((-1.0, 1.0), count), random.uniform(-1.0, 1.0, count)
