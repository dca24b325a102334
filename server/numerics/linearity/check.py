"""The laws of linearity on trial: all from a few calls for many grad_outputs, or else each law by itself."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, lru_cache, partial

import numpy as np
import torch

from ...runtime.arrays import STAIRCASE_BITS, Array, evenly_chosen, mantissa_bits
from ...runtime.batching import Batch, factors_of_all_sizes
from ...runtime.failure import FunctionFailed
from ...runtime.remembered import remembered, stand_in
from ...runtime.section import Section
from ...runtime.vjp import Layout, MonitoredLayout, dense, expanded, strided, transposed
from ..sampling.grid import FEW_POINTS
from .trial import (
    KERNEL_TOLERANCE,
    Demand,
    Given,
    Trial,
    noise_along_points,
    probes_along,
    trial_of_points,
    trial_of_tensor,
    trial_on_matrix,
)
from .violation import Violation, violation_by_write

# bound: the relative tolerance for sums and for other magnitudes of grad_output.
_SUM_TOLERANCE = {8: 2.0**-20, 4: 2.0**-14, 2: 2.0**-4}
# sample: the factor of all grad_outputs, and the powers of two by which the random one at each point is scaled …
_LARGE, _SPREAD_SCALE = 2.0**20, 10
_LARGE_HALF, _SPREAD_SCALE_HALF = 2.0**5, 3  # sample: … and in half precision, or where a tensor adds its elements up
_SPREAD = 3.0  # sample: random grad_outputs are drawn from this many powers of two on either side of 1
_SHORT_DTYPES = ((11, torch.float16), (24, torch.float32))  # unit: the mantissa bits of shorter dtypes
_ROUNDS = 3  # budget: few points are each given so many grad_outputs of different sizes, others one
_POINTS = 64  # budget: the points, even in number, at which an elementwise backward is asked for 0 and in other layouts
# budget: the number of elements passed at once to a Function that is otherwise evaluated one number at a time.
_ELEMENTS = 7


def violations_at_points(
    section: Section, x: Array, base: float, of_base: Array | None, monitored: MonitoredLayout, arithmetic: torch.dtype
) -> Iterator[Violation | None]:
    """The violations at the points ``x``, where backward returned ``of_base`` for ``base``, if that is known.

    ``arithmetic`` is the dtype that a section computes in, or a longer one.

    Repeatability comes first, because without it the other laws would seem broken too; ``monitored`` is the layout of
    that call. Raises ``FunctionFailed`` where backward fails for a random grad_output.
    """
    if of_base is None:
        of_base = trial_of_points(section, x, base, x).ask(base, dense)
    trial = trial_of_points(section, x, base, of_base)
    trial = replace(trial, inside=_dtype_inside(arithmetic, of_base, STAIRCASE_BITS))
    yield trial.violation("repeats", Demand(base, of_base, layout=monitored))
    yield (written := violation_by_write(monitored, x, base))
    elementwise = bool(section.stacked) and monitored.size == x.size > 1
    if not written and section.dtype.itemsize > 2:
        rounds = _ROUNDS if x.size <= FEW_POINTS else 1
        at, known = np.tile(x, rounds), np.tile(of_base, rounds)
        given = base * factors_of_all_sizes(at.size)
        try:
            found = trial_of_points(section, at, base, known).ask(given, dense)
            kept = violations_in_proportion(section, at, base, known, given, found, elementwise)
        except FunctionFailed:
            kept = None
        if kept is not None:
            yield from kept
            return
    random = section.snap(base * _random_numbers(x.size)[0])
    yield from _each_law(trial, base, of_base, random)
    if elementwise and not written:
        yield from _layouts_at_points(section, trial, of_base, random)


def violations_in_proportion(
    section: Section,
    x: Array,
    base: float,
    of_base: Array,
    given: Array,
    found: Array,
    elementwise: bool = True,
    double: Batch | None = None,
) -> list[Violation | None] | None:
    """The violations of a backward that returned ``of_base`` for ``base`` and ``found`` for ``given``, at points ``x``.

    They are found in few calls where these are in proportion, in one for each sign if backward is meant to follow that;
    else the answer is None, and the laws are to be tested one by one. ``double`` is what is known of the section in
    double precision.
    """
    random, opposite = section.snap(base * _random_numbers(x.size)[0]), -of_base
    trial = trial_of_points(section, x, base, of_base)
    if by_sign := section.op.follows_sign:
        probes = probes_along(section, x)
        each = np.full(x.size, -base), random, base + random, np.full(probes.size, base)
        answers = section.gradient(np.concatenate((x, x, x, probes)), np.concatenate(each))
        opposite, of_random, of_both = answers[: 3 * x.size].reshape(3, -1)
        noise = partial(noise_along_points, section, x, base, of_base, answers[3 * x.size :], double)
        trial = replace(trial, noise=cache(noise))

    def replayed(answer: Array) -> Trial:
        return replace(trial, ask=lambda given, layout: answer)

    if not replayed(found).holds(_in_proportion(base, of_base, opposite, given)):
        return None
    if elementwise and section.copy_size == 1:
        kept = _kept_in_domain(section, stand_in(base))
    else:
        kept = _kept_everywhere(trial, of_base, opposite, *((expanded, strided) if elementwise else (dense, dense)))
    if not kept:
        return None
    if not by_sign:
        return []
    sums = _SUM_TOLERANCE[section.dtype.itemsize]
    return [
        replayed(opposite).violation("odd", Demand(-base, of_base, -1.0)),
        replayed(of_both).violation("adds", Demand(base + random, of_base + of_random, 1.0, sums)),
    ]


def _in_proportion(
    base: float, of_base: Array, opposite: Array, given: Array, layout: Layout = dense, rounding: float = 0.0
) -> Demand:
    """For grad_outputs of all sizes what was returned for ``base``, or for its ``opposite``, in proportion."""
    count, share = given.size, given / base
    known = np.where(share < 0, -opposite[:count], of_base[:count]) * (share != 0)
    return Demand(given, known, np.where(share == 0, 1.0, share), rounding, layout)


@remembered()
@np.errstate(all="ignore")
def _kept_in_domain(section: Section, base: float) -> bool:
    """What ``_kept_everywhere`` says of an elementwise backward in the declared domain, of points as a matrix."""
    x = np.linspace(*section.op.input(section.wrt).domain, _POINTS)
    trial = trial_of_points(section, x, base, x)
    matrix = trial_on_matrix(section, trial)
    try:
        if section.op.follows_sign:
            of_base, opposite = section.gradient(np.tile(x, 2), np.repeat((base, -base), _POINTS)).reshape(2, -1)
            return _kept_everywhere(matrix, of_base, opposite, expanded, transposed)
        of_base = -_LARGE * matrix.ask(np.full(_POINTS, -base / _LARGE), expanded)
    except FunctionFailed:
        return False
    return _kept_everywhere(matrix, of_base, -of_base, None, transposed)


def _kept_everywhere(trial: Trial, of_base: Array, opposite: Array, equal: Layout | None, any_: Layout) -> bool:
    """Whether backward returns what it has to for 0, for small and for random grad_outputs, the same at all points.

    The latter two are handed over in the layouts for ``equal`` numbers, None where that is what is known, and ``any_``.
    """
    base, count, rounding = trial.base, trial.x.size, _SUM_TOLERANCE[trial.dtype.itemsize]
    sizes = partial(_in_proportion, base, of_base, opposite, rounding=rounding)
    small, both = np.full(count, -base / _LARGE), base + base * _random_numbers(count)[0]
    finite = np.isfinite(of_base).all() and np.isfinite(opposite).all()
    return bool(
        finite
        and trial.holds(Demand(0.0, 0 * of_base))
        and (equal is None or trial.holds(sizes(small, layout=equal)))
        and trial.holds(sizes(both, layout=any_))
    )


def violations_of_tensor(
    section: Section, x: Array, base: float, several: bool, arithmetic: torch.dtype
) -> Iterator[Violation | None]:
    """The violations for a random grad_output over the whole output, about as large as ``base``.

    ``several`` says that one copy of the output has more than one element. Raises ``FunctionFailed``.
    """
    t = x[[x.size // 2]] if several else evenly_chosen(x, _ELEMENTS)
    whole = section if several else replace(section.alone(), stacked=tuple(name for name, _ in section.inputs))
    try:
        size = whole.in_one_call(t).elements
        one, other = (section.snap(base * np.random.default_rng(seed).standard_normal(size)) for seed in (1, 2))
        asked = trial_of_tensor(whole, t, base, one, float(x[-1] - x[0]))
    except FunctionFailed:
        if several:
            raise
        return
    if asked is None:
        return
    (trial, of_one), monitored = asked, MonitoredLayout()
    trial = replace(trial, inside=_dtype_inside(arithmetic, of_one))
    if _combines(trial, of_one, one, other, monitored) and not monitored.written:
        return
    yield trial.violation("repeats", Demand(one, of_one, layout=(monitored := MonitoredLayout())))
    yield (written := violation_by_write(monitored, trial.x, math.nan))
    yield from _each_law(trial, one, of_one, other)
    if not written:
        for layout in (strided, transposed):
            yield trial.layout_violation(one, of_one, layout)
        yield trial.layout_violation(base, trial.ask(base, dense), expanded)


def _combines(trial: Trial, of_one: Array, one: Array, other: Array, monitored: MonitoredLayout) -> bool:
    """Whether sums of three grad_outputs, in various layouts, give the sums of their gradients."""
    try:
        of_other, of_equal = trial.ask(other, dense), trial.ask(trial.base, expanded)
    except FunctionFailed:
        return False

    def sums(factor: float, sign: float, layout: Layout) -> bool:
        given = factor * one + sign * other + trial.base
        gradient = factor * of_one + sign * of_other + of_equal
        return trial.holds(Demand(given, gradient, layout=lambda out: monitored(layout(out))))

    return sums(-_LARGE_HALF, 1.0, strided) and sums(1.0, -1.0, transposed)


def _each_law(trial: Trial, base: Given, of_base: Array, random: Array) -> Iterator[Violation | None]:
    """The laws but for those of layouts, one by one: known is what backward returned for ``base``.

    Raises ``FunctionFailed`` where backward fails for a ``random`` grad_output.
    """
    yield trial.violation("zero", Demand(0.0, 0 * of_base))
    try:
        of_random = trial.ask(random, dense)
    except FunctionFailed:
        yield trial.violation("odd", Demand(-base, of_base, -1.0))
        raise
    if not trial.whole:
        trial = replace(trial, inside=_dtype_inside(trial.inside, of_random))
    tolerance, half = _SUM_TOLERANCE[trial.inside.itemsize], trial.inside == torch.float16
    large = _LARGE_HALF if half or trial.whole else _LARGE
    yield trial.violation("scales", Demand(large * base, of_base, large, tolerance))
    if not trial.whole:
        spread = _SPREAD_SCALE_HALF if half else _SPREAD_SCALE
        powers = 2.0 ** np.round(spread * _random_numbers(random.size)[1])
        if finding := trial.violation("scales", Demand(powers * random, of_random, powers, tolerance)):
            mixes = _mixes_elements(trial, random, powers * random)
            yield replace(finding, law="mixes") if mixes else finding
    yield trial.violation("odd", Demand(-base, of_base, -1.0))
    yield trial.violation("scales", Demand(base / large, of_base, 1 / large, tolerance))
    yield trial.violation("scales", Demand(-base / large, trial.ask(-base, dense), 1 / large, tolerance))
    yield trial.violation("adds", Demand(base + random, of_base + of_random, 1.0, tolerance))


def _mixes_elements(trial: Trial, random: Array, mixed: Array) -> bool:
    """Whether the gradient at every other point depends on the ``mixed`` grad_output at the points between."""
    try:
        gradient = trial.ask(mixed, dense)
    except FunctionFailed:
        return False
    odd_rows = np.arange(mixed.size) % 2 == 1
    return not all(
        trial.holds(Demand(np.where(others, random, mixed), np.where(others, np.nan, gradient)))
        for others in (odd_rows, ~odd_rows)
    )


def _layouts_at_points(section: Section, trial: Trial, of_base: Array, random: Array) -> Iterator[Violation | None]:
    """Tests of ``layout``; without the 2 × n matrix where the Function does not accept one."""
    of_random, laid, any_ = trial.ask(random, dense), trial, strided
    if section.copy_size == 1 and trial.x.size >= 4:
        matrix = trial_on_matrix(section, trial)
        count, places = matrix.x.size, KERNEL_TOLERANCE[trial.inside.itemsize]
        if matrix.holds(Demand(random[:count], of_random[:count], 1.0, places)):
            laid, any_ = matrix, transposed
    count = laid.x.size
    yield laid.layout_violation(trial.base, of_base[:count], expanded)
    yield laid.layout_violation(random[:count], of_random[:count], any_)


def _dtype_inside(dtype: torch.dtype, answer: Array, fewest: int = 1) -> torch.dtype:
    """The dtype that backward computes in: shorter than ``dtype`` if all its results have so few mantissa bits.

    More than the ``fewest``, which tell nothing.
    """
    bits = mantissa_bits(answer) if dtype.itemsize > 2 else 0
    return next((short for most, short in _SHORT_DTYPES if fewest < bits <= most), dtype)


def shorter(dtype: torch.dtype, precision: float) -> torch.dtype:
    """The dtype, or a shorter one that has this precision, half a unit in the last place."""
    bits = -math.log2(precision)
    return next((short for most, short in _SHORT_DTYPES if bits <= most and short.itemsize < dtype.itemsize), dtype)


@lru_cache(maxsize=16)
def _random_numbers(count: int) -> tuple[Array, Array]:
    """For every point a random number of either sign, and one from −1 to 1; the same ones in every call."""
    random = np.random.default_rng(count)
    size = 2 ** random.uniform(-_SPREAD, _SPREAD, count)
    return size * random.choice((-1.0, 1.0), count), random.uniform(-1.0, 1.0, count)
