"""The tests of single laws of linearity, point by point and for whole tensors: backward against what a law requires."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from typing import Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from ...runtime.arrays import Array, largest_magnitude
from ...runtime.failure import FunctionFailed
from ...runtime.matrix_vjp import even_count, vjp_on_matrix
from ...runtime.section import Section
from ...runtime.vjp import Layout, MonitoredLayout, dense, expanded, strided, transposed
from ..differentiation.finite_differences import EVIDENCE_BOUNDS
from ..differentiation.noise import mantissa_bits
from .gradient_noise import gradient_noise_along, gradient_noise_at
from .violation import Law, Violation, violation_by_exception, violation_by_write

G = TypeVar("G")
# ulps: for a repeated call and for a change of sign, neither of which adds rounding; by the bytes of the dtype.
_ULPS = {8: 16.0, 4: 16.0, 2: 4.0}
# bound: the relative tolerance for sums and for other magnitudes of grad_output …
SUM_TOLERANCE = {8: 2.0**-20, 4: 2.0**-14, 2: 2.0**-4}
# bound: … and for other memory layouts of grad_output, for which a different kernel may run.
KERNEL_TOLERANCE = {8: 2.0**-20, 4: 2.0**-8, 2: 2.0**-2}
_OVERFLOW_ROOM = 16.0  # bound: within this factor of the largest number of the dtype, results may overflow on the way
_TIED = 0.999  # pattern: deviations within this factor of the largest count as equally large
# sample: the powers of two by which all grad_outputs are scaled, and by which the random one at each point is scaled …
LARGE_POWER, _SPREAD_SCALE = 20, 10
_SCALE_HALF, _SPREAD_SCALE_HALF = 5, 3  # sample: … and in half precision, which has a smaller range
_SPREAD = 3.0  # sample: random grad_outputs are drawn from this many powers of two on either side of 1
_SHORT_DTYPES = ((11, torch.float16), (24, torch.float32))  # unit: the mantissa bits of shorter dtypes
# The laws whose terms are rounded in different ways; to repeat a call, or to change its sign, changes no rounding.
_ROUNDED: tuple[Law, ...] = ("scales", "adds", "layout")
_Cotangent = Callable[[torch.Tensor], torch.Tensor]
# budget: the number of elements passed at once to a Function that is otherwise evaluated one number at a time.
_ELEMENTS = 7
_FACTOR = 32.0  # sample: what the grad_output of a whole tensor is multiplied by; a power of two adds no rounding


@dataclass(frozen=True)
class LawTest(Generic[G]):
    """A grad_output, and the gradient that a linear backward must return for it: ``factor`` times a known ``gradient``.

    ``value`` is that grad_output in numbers, ``rounding`` the tolerance relative to the largest number, and
    ``layout`` its memory layout.
    """

    grad_output: G
    value: float | Array
    gradient: Array
    factor: float | Array = 1.0
    rounding: float = 0.0
    layout: Layout = dense


@dataclass(frozen=True)
class LinearityTrial(Generic[G]):
    """A backward to test: ``backward`` calls it with a grad_output; its results belong to the places ``x``.

    Its inputs are of ``dtype``; internally it computes in ``inside``. ``noise`` measures the rounding noise of its
    results for a grad_output as large as ``base``: rounding may be all that is left where terms cancel.
    """

    backward: Callable[[G, Layout], Array]
    x: Array
    dtype: torch.dtype
    inside: torch.dtype
    base: float
    noise: Callable[[], float | Array]

    def holds(self, test: LawTest[G]) -> bool:
        """Whether backward returns the required gradient."""
        try:
            returned = self.backward(test.grad_output, test.layout)
        except FunctionFailed:
            return False
        return np.array_equal(returned, test.gradient * test.factor) or not self._exceeds(returned, test).any()

    def violation(self, law: Law, test: LawTest[G]) -> Violation | None:
        """The finding if backward does not return the required gradient.

        If a second identical call gives another result, only the law ``repeats`` is broken.
        """
        layout = test.layout.__name__ if law == "layout" else ""
        try:
            returned, expected = self.backward(test.grad_output, test.layout), test.gradient * test.factor
            if np.array_equal(returned, expected) or not (wrong := self._exceeds(returned, test)).any():
                return None
            if law in _ROUNDED and not (wrong := wrong & (np.abs(returned - expected) > self._noise_of(test))).any():
                return None
            second = self.backward(test.grad_output, test.layout)
        except FunctionFailed as error:
            return violation_by_exception(law, error, test.value, layout)
        repeat = replace(test, gradient=returned, factor=1.0, rounding=0.0)
        if law != "repeats" and (changed := self._exceeds(second, repeat)).any():
            law, returned, expected, wrong, layout = "repeats", second, returned, changed, ""
        row = _worst_row(np.abs((returned - expected) / test.factor), wrong)
        at = float(np.broadcast_to(test.value, returned.shape)[row])
        return Violation(law, float(self.x[row]), at, float(returned[row]), float(expected[row]), "", layout)

    def _noise_of(self, test: LawTest[G]) -> float | Array:
        """The noise to expect for the grad_output of a test, and for the known gradient it is compared with."""
        size, factor = np.abs(np.asarray(test.value) / self.base), np.abs(test.factor)
        return EVIDENCE_BOUNDS * self.noise() * (factor + np.where(np.isfinite(size), size, factor))

    def _exceeds(self, returned: Array, test: LawTest[G]) -> NDArray[np.bool_]:
        """Where ``returned`` is wrong by more than rounding, underflow or the overflow of larger numbers explain."""
        info, gradient, factor = torch.finfo(self.dtype), test.gradient, test.factor
        allowed = max(test.rounding, _ULPS[self.dtype.itemsize] * info.eps)
        size, times = np.abs(gradient), np.abs(factor)
        tolerance = allowed * (size + largest_magnitude(gradient)) + torch.finfo(self.inside).tiny / times
        wrong = (size * times < info.max / _OVERFLOW_ROOM) & ~(np.abs(returned / factor - gradient) <= tolerance)
        return wrong & (np.isfinite(returned) | (times <= 1))


def _worst_row(distance: Array, wrong: NDArray[np.bool_]) -> int:
    """The row with the largest deviation; among equal ones the middle one."""
    distance = np.where(wrong, np.where(np.isfinite(distance), distance, np.inf), -1.0)
    ties = np.flatnonzero(distance >= _TIED * distance.max())
    return int(ties[ties.size // 2])


PointTrial = LinearityTrial[float | Array]


@dataclass(frozen=True)
class _Gradients:
    """The gradients that backward returned for ``base`` at every point, and for ``random`` numbers."""

    base: float
    of_base: Array
    random: Array
    of_random: Array


@dataclass(frozen=True)
class _Layouts:
    """The trial for other memory layouts, and the layout for ``equal`` numbers and for ``any``."""

    trial: PointTrial
    equal: Layout
    any: Layout


def pointwise_violations(
    section: Section, x: Array, base: float, of_base: Array | None, monitored: MonitoredLayout
) -> Iterator[Violation | None]:
    """The violations at the points ``x``, where backward returned ``of_base`` for ``base``, if that is known.

    Repeatability comes first, because without it the other laws would seem broken too; ``monitored`` is the layout of
    that call. Raises ``FunctionFailed`` where backward fails for a random grad_output.
    """
    if of_base is None:
        of_base = trial_of(section, x, base, x).backward(base, dense)
    trial = trial_of(section, x, base, of_base)
    yield trial.violation("repeats", LawTest(base, base, of_base, layout=monitored))
    yield (written := violation_by_write(monitored, x, base))
    yield trial.violation("zero", LawTest(0.0, 0.0, 0 * of_base))
    numbers, exponents = random_numbers(x.size)
    random = section.snap(base * numbers)
    elementwise = bool(section.stacked) and monitored.size == x.size > 1
    try:
        gradients = _Gradients(base, of_base, random, trial.backward(random, dense))
    except FunctionFailed:
        yield trial.violation("odd", LawTest(-base, -base, of_base, -1.0))
        raise
    trial = replace(trial, inside=_dtype_inside(section.dtype, gradients.of_random))
    yield from _test_scales(trial, gradients, exponents)
    yield from _test_sums(trial, gradients, layouts_of(section, trial) if elementwise and not written else None)


def trial_of(section: Section, x: Array, base: float, of_base: Array) -> PointTrial:
    """The trial of a section's backward, which returned ``of_base`` for ``base``, at the points ``x``."""

    def backward(grad_output: float | Array, layout: Layout) -> Array:
        gradient = section.backward(x, grad_output, layout).grad_input
        return np.zeros(x.shape) if gradient is None else gradient

    noise = cache(partial(gradient_noise_along, section, x, base, of_base))
    return LinearityTrial(backward, x, section.dtype, section.dtype, base, noise)


def _test_scales(trial: PointTrial, known: _Gradients, exponents: Array) -> Iterator[Violation | None]:
    """Tests of ``scales`` and ``mixes``: one large factor for all, and another factor at each point."""
    scale, spread = _scales(trial)
    tolerance, large, powers = SUM_TOLERANCE[trial.inside.itemsize], 2.0**scale, 2.0 ** np.round(spread * exponents)
    yield trial.violation("scales", LawTest(large * known.base, large * known.base, known.of_base, large, tolerance))
    mixed = powers * known.random
    if finding := trial.violation("scales", LawTest(mixed, mixed, known.of_random, powers, tolerance)):
        yield replace(finding, law="mixes") if _mixes_elements(trial, known, mixed) else finding


def _mixes_elements(trial: PointTrial, known: _Gradients, mixed: Array) -> bool:
    """Whether the gradient at every other point depends on the ``mixed`` grad_output at the points between."""
    try:
        gradient = trial.backward(mixed, dense)
    except FunctionFailed:
        return False
    odd_rows = np.arange(mixed.size) % 2 == 1
    return not all(
        trial.holds(LawTest(np.where(others, known.random, mixed), math.nan, np.where(others, np.nan, gradient)))
        for others in (odd_rows, ~odd_rows)
    )


def _test_sums(trial: PointTrial, known: _Gradients, layouts: _Layouts | None) -> Iterator[Violation | None]:
    """Tests of ``odd``, ``scales`` and ``adds``; with ``layouts`` also of ``layout``.

    One call tests several laws at once; only where it fails are they tested one by one.
    """
    base, of_base, random, of_random = known.base, known.of_base, known.random, known.of_random
    matrix, count = (trial, trial.x.size) if layouts is None else (layouts.trial, layouts.trial.x.size)
    equal, any_ = (dense, dense) if layouts is None else (layouts.equal, layouts.any)
    small, rtol = 2.0 ** -_scales(trial)[0], SUM_TOLERANCE[trial.inside.itemsize]
    both, of_both = base + random, of_base + of_random
    signs = matrix.holds(LawTest(-small * base, math.nan, of_base[:count], -small, rtol, equal))
    if not signs:
        yield trial.violation("odd", LawTest(-base, -base, of_base, -1.0))
        yield trial.violation("scales", LawTest(small * base, small * base, of_base, small, rtol))
        opposite = trial.backward(-base, dense)
        yield trial.violation("scales", LawTest(-small * base, -small * base, opposite, small, rtol))
    added = matrix.holds(LawTest(both[:count], math.nan, of_both[:count], 1.0, rtol, any_))
    if not added:
        yield trial.violation("adds", LawTest(both, both, of_both, 1.0, rtol))
    if layouts and not (signs and added):
        yield from _test_layouts(trial, known, layouts)


def _test_layouts(trial: PointTrial, known: _Gradients, laid: _Layouts) -> Iterator[Violation | None]:
    """Tests of ``layout``; without the 2 × n matrix where the Function does not accept one."""
    places, count = KERNEL_TOLERANCE[trial.inside.itemsize], laid.trial.x.size
    if not laid.trial.holds(LawTest(known.random[:count], math.nan, known.of_random[:count], 1.0, places)):
        laid, count = _Layouts(trial, expanded, strided), trial.x.size
    base, random = known.base, known.random[:count]
    yield laid.trial.violation("layout", LawTest(base, base, known.of_base[:count], 1.0, places, laid.equal))
    yield laid.trial.violation("layout", LawTest(random, random, known.of_random[:count], 1.0, places, laid.any))


def layouts_of(section: Section, trial: PointTrial) -> _Layouts:
    if section.copy_size > 1 or trial.x.size < 4:
        return _Layouts(trial, expanded, strided)
    count = even_count(trial.x.size)
    noise = cache(lambda: np.asarray(trial.noise())[:count])
    matrix = replace(trial, backward=vjp_on_matrix(section, trial.x), x=trial.x[:count], noise=noise)
    return _Layouts(matrix, expanded, transposed)


def _scales(trial: PointTrial) -> tuple[int, int]:
    return (_SCALE_HALF, _SPREAD_SCALE_HALF) if trial.inside == torch.float16 else (LARGE_POWER, _SPREAD_SCALE)


def _dtype_inside(dtype: torch.dtype, answer: Array) -> torch.dtype:
    """The dtype that backward computes in: shorter than ``dtype`` if all its results have so few mantissa bits."""
    bits = mantissa_bits(answer) if dtype.itemsize > 2 else 0
    return next((short for most, short in _SHORT_DTYPES if 1 < bits <= most), dtype)


@lru_cache(maxsize=16)
def random_numbers(count: int) -> tuple[Array, Array]:
    """For every point a random number of either sign, and one from −1 to 1; the same ones in every call."""
    random = np.random.default_rng(count)
    size = 2 ** random.uniform(-_SPREAD, _SPREAD, count)
    return size * random.choice((-1.0, 1.0), count), random.uniform(-1.0, 1.0, count)


def tensorwise_violations(section: Section, x: Array, base: float, several: bool) -> Iterator[Violation | None]:
    """The violations for a random grad_output over the whole output, about as large as ``base``.

    ``several`` says that one copy of the output has more than one element. Raises ``FunctionFailed``.
    """
    t = x[[x.size // 2]] if several else x[np.linspace(0, x.size - 1, min(_ELEMENTS, x.size)).astype(np.intp)]
    whole = section if several else replace(section.alone(), stacked=tuple(name for name, _ in section.inputs))
    one, other, equal = _random_cotangent(1, base), _random_cotangent(2, base), _equal_cotangent(base)
    try:
        gradient = whole.vjp(t, one)
    except FunctionFailed:
        if several:
            raise
        return
    if gradient is None:
        return

    def backward(cotangent: _Cotangent, layout: Layout) -> Array:
        answer = whole.vjp(t, lambda out: layout(cotangent(out)))
        return np.zeros(gradient.shape) if answer is None else answer

    place = np.full(gradient.shape, t[0] if several else math.nan)
    noise = cache(partial(gradient_noise_at, whole, t, float(x[-1] - x[0]), one))
    inside = _dtype_inside(section.dtype, gradient)
    trial, monitored = LinearityTrial(backward, place, section.dtype, inside, base, noise), MonitoredLayout()
    yield trial.violation("repeats", LawTest(one, math.nan, gradient, layout=monitored))
    yield (written := violation_by_write(monitored, place, math.nan))
    yield trial.violation("odd", LawTest(_scaled(-1.0, one), math.nan, gradient, -1.0))
    places, tolerance = KERNEL_TOLERANCE[inside.itemsize], SUM_TOLERANCE[inside.itemsize]
    yield trial.violation("scales", LawTest(_scaled(_FACTOR, one), math.nan, gradient, _FACTOR, tolerance))
    both = gradient + backward(other, dense)
    yield trial.violation("adds", LawTest(lambda out: one(out) + other(out), math.nan, both, 1.0, tolerance))
    if not written:
        for layout in (strided, transposed):
            yield trial.violation("layout", LawTest(one, math.nan, gradient, 1.0, places, layout))
        yield trial.violation("layout", LawTest(equal, base, backward(equal, dense), 1.0, places, expanded))


def _random_cotangent(seed: int, base: float) -> _Cotangent:
    def cotangent(out: torch.Tensor) -> torch.Tensor:
        numbers = base * np.random.default_rng(seed).standard_normal(tuple(out.shape))
        return torch.as_tensor(numbers).to(out.device, out.dtype)

    return cotangent


def _equal_cotangent(base: float) -> _Cotangent:
    return lambda out: torch.full(out.shape, base, dtype=out.dtype, device=out.device)


def _scaled(factor: float, given: _Cotangent) -> _Cotangent:
    return lambda out: factor * given(out)
