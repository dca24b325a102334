"""The laws of linearity for one number of ``grad_output`` at each point of a section."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch

from ...runtime.arrays import Array
from ...runtime.cotangents import even, on_a_sheet
from ...runtime.failure import FunctionFailed
from ...runtime.section import Section
from ...runtime.vjp import Layout, Watched, dense, expanded, strided, transposed
from ..differentiation.noise import mantissa_bits
from .check import ROUNDED, SUMS, Question, Trial, touched
from .violation import Finding

_Ask = Trial[float | Array]

# How many powers of two larger and smaller all grad_outputs are made, and the random one at each point …
_FAR, _NEAR = 20, 10
# … but for half precision, which holds no more.
FAR_IN_HALF, NEAR_IN_HALF = 5, 3
# Random numbers are drawn from so many powers of two on either side of 1.
_SPREAD = 3.0
# Shorter dtypes, and the bits of their numbers.
_SHORTER = ((11, torch.float16), (24, torch.float32))


@dataclass(frozen=True)
class _Known:
    """What a backward returned for ``base`` at every point, and for ``random`` numbers."""

    base: float
    of_base: Array
    random: Array
    of_random: Array


@dataclass(frozen=True)
class _Laid:
    """What asks a backward with a grad_output of ``equal`` numbers, or of ``any``, that lies in memory like this."""

    trial: _Ask
    equal: Layout
    any: Layout


def at_each_point(
    section: Section, x: Array, base: float, of_base: Array | None, watched: Watched
) -> Iterator[Finding | None]:
    """What breaks a law at the points ``x``, where backward returned ``of_base`` for ``base``, if that is known.

    Whether it answers the same again comes first: what does not would seem to break the other laws too. ``watched``
    hands it that grad_output. Raises ``FunctionFailed`` where backward fails for a random one.
    """

    def ask(given: float | Array, layout: Layout) -> Array:
        found = section.backward(x, given, layout).grad_input
        return np.zeros(x.shape) if found is None else found

    of_base = ask(base, dense) if of_base is None else of_base
    trial: _Ask = Trial(ask, x, section.dtype, section.dtype)
    yield trial.broken("repeats", Question(base, base, of_base, layout=watched))
    yield (written := touched(watched, x, base))
    yield trial.broken("zero", Question(0.0, 0.0, 0 * of_base))
    numbers, exponents = _drawn(x.size)
    random = section.snap(base * numbers)
    try:
        known = _Known(base, of_base, random, ask(random, dense))
    except FunctionFailed:
        yield trial.broken("odd", Question(-base, -base, of_base, -1.0))
        raise
    trial = replace(trial, inside=_inside(section.dtype, known.of_random))
    yield from _sizes(trial, known, exponents)
    elementwise = bool(section.stacked) and watched.size == x.size > 1
    yield from _signs_and_sums(trial, known, _laid(section, trial) if elementwise and not written else None)


def _sizes(trial: _Ask, known: _Known, exponents: Array) -> Iterator[Finding | None]:
    """Larger grad_outputs, and each point's own times another number."""
    far, near = _reach(trial)
    sums, large, powers = SUMS[trial.inside.itemsize], 2.0**far, 2.0 ** np.round(near * exponents)
    yield trial.broken("scales", Question(large * known.base, large * known.base, known.of_base, large, sums))
    mixed = powers * known.random
    if finding := trial.broken("scales", Question(mixed, mixed, known.of_random, powers, sums)):
        yield replace(finding, law="mixes") if _mixes(trial, known, mixed) else finding


def _mixes(trial: _Ask, known: _Known, given: Array) -> bool:
    """Whether what is returned for every other point moves with the ``given`` grad_output of the points between."""
    try:
        answer = trial.ask(given, dense)
    except FunctionFailed:
        return False
    between = np.arange(given.size) % 2 == 1
    return not all(
        trial.keeps(Question(np.where(others, known.random, given), math.nan, np.where(others, np.nan, answer)))
        for others in (between, ~between)
    )


def _signs_and_sums(trial: _Ask, known: _Known, laid: _Laid | None) -> Iterator[Finding | None]:
    """Negative grad_outputs, smaller ones and sums, of an elementwise Function in other layouts of memory too.

    One question is for several laws: only where it is not answered as all call for are they asked one by one.
    """
    base, of_base, random, of_random = known.base, known.of_base, known.random, known.of_random
    sheet, count = (trial, trial.x.size) if laid is None else (laid.trial, laid.trial.x.size)
    one, all_ = (dense, dense) if laid is None else (laid.equal, laid.any)
    small, sums = 2.0 ** -_reach(trial)[0], SUMS[trial.inside.itemsize]
    both, of_both = base + random, of_base + of_random
    signs = sheet.keeps(Question(-small * base, math.nan, of_base[:count], -small, sums, one))
    if not signs:
        yield trial.broken("odd", Question(-base, -base, of_base, -1.0))
        yield trial.broken("scales", Question(small * base, small * base, of_base, small, sums))
        yield trial.broken("scales", Question(-small * base, -small * base, trial.ask(-base, dense), small, sums))
    added = sheet.keeps(Question(both[:count], math.nan, of_both[:count], 1.0, sums, all_))
    if not added:
        yield trial.broken("adds", Question(both, both, of_both, 1.0, sums))
    if laid and not (signs and added):
        yield from _layouts(trial, known, laid)


def _layouts(trial: _Ask, known: _Known, laid: _Laid) -> Iterator[Finding | None]:
    """The same grad_output in other layouts of memory; not on a sheet if the Function does not take one."""
    places, count = ROUNDED[trial.inside.itemsize], laid.trial.x.size
    if not laid.trial.keeps(Question(known.random[:count], math.nan, known.of_random[:count], 1.0, places)):
        laid, count = _Laid(trial, expanded, strided), trial.x.size
    base, random = known.base, known.random[:count]
    yield laid.trial.broken("layout", Question(base, base, known.of_base[:count], 1.0, places, laid.equal))
    yield laid.trial.broken("layout", Question(random, random, known.of_random[:count], 1.0, places, laid.any))


def _laid(section: Section, trial: _Ask) -> _Laid:
    if section.copy_size > 1 or trial.x.size < 4:
        return _Laid(trial, expanded, strided)
    sheet = replace(trial, ask=on_a_sheet(section, trial.x), x=trial.x[: even(trial.x.size)])
    return _Laid(sheet, expanded, transposed)


def _reach(trial: _Ask) -> tuple[int, int]:
    return (FAR_IN_HALF, NEAR_IN_HALF) if trial.inside == torch.float16 else (_FAR, _NEAR)


def _inside(dtype: torch.dtype, answer: Array) -> torch.dtype:
    """The dtype that backward computes in: a shorter one than asked for if all its answers are so short."""
    bits = mantissa_bits(answer) if dtype.itemsize > 2 else 0
    return next((short for most, short in _SHORTER if 1 < bits <= most), dtype)


@lru_cache(maxsize=16)
def _drawn(count: int) -> tuple[Array, Array]:
    """A random number of either sign, and one from −1 to 1, for every point; always the same ones."""
    random = np.random.default_rng(count)
    size = 2 ** random.uniform(-_SPREAD, _SPREAD, count)
    return size * random.choice((-1.0, 1.0), count), random.uniform(-1.0, 1.0, count)
