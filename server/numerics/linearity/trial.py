"""A backward on trial: what it returns for a grad_output, against what a law of linearity requires."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...runtime.arrays import Array, largest_magnitude
from ...runtime.batching import Batch
from ...runtime.failure import Failure, FunctionFailed
from ...runtime.reference import find_reference, lost_to_double
from ...runtime.section import Section
from ...runtime.vjp import Layout, dense
from ..differentiation.finite_differences import EVIDENCE_BOUNDS
from ..differentiation.noise import moving_maximum, noise_along, noise_probes
from ..tolerance import ALIKE_SHARE
from .violation import Law, Violation, violation_by_exception

Given = float | Array
Ask = Callable[[Given, Layout], Array]
# ulps: for a repeated call and for a change of sign, neither of which adds rounding; by the bytes of the dtype.
_ULPS = {8: 16.0, 4: 16.0, 2: 4.0}
# bound: the relative tolerance for other memory layouts of grad_output, for which a different kernel may run.
KERNEL_TOLERANCE = {8: 2.0**-20, 4: 2.0**-8, 2: 2.0**-2}
_OVERFLOW_ROOM = 16.0  # bound: within this factor of the largest number of the dtype, results may overflow on the way
# The laws whose terms are rounded in different ways; to repeat a call, or to change its sign, changes no rounding.
_ROUNDED: tuple[Law, ...] = ("scales", "adds", "layout")

# sample: the distance of the points at which the noise of a tensor's gradient is measured, as a share of the range: so
# large that terms near 1 change by some last places; and the order of the differences that cancel whatever is smooth.
_NOISE_DISTANCE, _NOISE_ORDER = 1e-4, 6
_NOISE_GAIN = math.sqrt(math.comb(2 * _NOISE_ORDER, _NOISE_ORDER))  # unit: by which such a difference multiplies noise
_NEAR = 2  # bound: what is lost at a row may be lost at so many rows on either side of it


@dataclass(frozen=True)
class Demand:
    """What a linear backward must return for a grad_output that is ``given``: ``factor`` times a known ``gradient``.

    ``rounding`` is the tolerance relative to the largest number, ``layout`` how grad_output lies in memory.
    """

    given: Given
    gradient: Array
    factor: Given = 1.0
    rounding: float = 0.0
    layout: Layout = dense


@dataclass(frozen=True)
class Trial:
    """A backward to test: ``ask`` calls it with a grad_output; its results belong to the places ``x``.

    A grad_output is one number for all places, or one for each; with ``whole`` it is one for each element of a whole
    output. Inputs are of ``dtype``; internally backward computes in ``inside``. ``noise`` measures the rounding noise
    of its results for a grad_output as large as ``base``: rounding may be all that is left where terms cancel.
    """

    ask: Ask
    x: Array
    dtype: torch.dtype
    inside: torch.dtype
    base: float
    noise: Callable[[], Given]
    whole: bool = False

    def holds(self, demand: Demand) -> bool:
        """Whether backward returns the required gradient."""
        try:
            return not self._exceeds(self.ask(demand.given, demand.layout), demand).any()
        except FunctionFailed:
            return False

    def violation(self, law: Law, demand: Demand) -> Violation | None:
        """The finding if backward does not return the required gradient.

        If a second identical call gives another result, only the law ``repeats`` is broken.
        """
        layout = demand.layout.__name__ if law == "layout" else ""
        value = math.nan if self.whole and np.ndim(demand.given) else demand.given
        try:
            returned, expected = self.ask(demand.given, demand.layout), demand.gradient * demand.factor
            wrong = self._exceeds(returned, demand)
            if wrong.any() and law in _ROUNDED:
                # The noise of this grad_output, and that of the known gradient it is compared with.
                size, factor = np.abs(np.asarray(value) / self.base), np.abs(demand.factor)
                noise = EVIDENCE_BOUNDS * self.noise() * (factor + np.where(np.isfinite(size), size, factor))
                wrong &= np.abs(returned - expected) > noise
            if not wrong.any():
                return None
            second = self.ask(demand.given, demand.layout)
        except FunctionFailed as error:
            return violation_by_exception(law, error, value, layout)
        repeat = replace(demand, gradient=returned, factor=1.0, rounding=0.0)
        if law != "repeats" and (changed := self._exceeds(second, repeat)).any():
            law, returned, expected, wrong, layout = "repeats", second, returned, changed, ""
        row = _worst_row(np.abs((returned - expected) / demand.factor), wrong)
        at = float(np.broadcast_to(value, returned.shape)[row])
        return Violation(law, float(self.x[row]), at, float(returned[row]), float(expected[row]), "", layout)

    def layout_violation(self, given: Given, gradient: Array, layout: Layout) -> Violation | None:
        """The finding if backward does not return this gradient for a grad_output in another memory layout."""
        return self.violation("layout", Demand(given, gradient, 1.0, KERNEL_TOLERANCE[self.inside.itemsize], layout))

    def _exceeds(self, returned: Array, demand: Demand) -> NDArray[np.bool_]:
        """Where ``returned`` is wrong by more than rounding, underflow or the overflow of larger numbers explain."""
        inside, gradient, factor = torch.finfo(self.inside), demand.gradient, demand.factor
        if np.array_equal(returned, gradient * factor):
            return np.zeros(returned.shape, bool)
        allowed = max(demand.rounding, _ULPS[self.inside.itemsize] * inside.eps)
        size, times = np.abs(gradient), np.abs(factor)
        tolerance = allowed * (size + largest_magnitude(gradient)) + inside.tiny / times
        wrong = (size * times < torch.finfo(self.dtype).max / _OVERFLOW_ROOM) & ~(
            np.abs(returned / factor - gradient) <= tolerance
        )
        return wrong & (np.isfinite(returned) | (times <= 1))


def _worst_row(distance: Array, wrong: NDArray[np.bool_]) -> int:
    """The row with the largest deviation; among equal ones the middle one."""
    distance = np.where(wrong, np.where(np.isfinite(distance), distance, np.inf), -1.0)
    ties = np.flatnonzero(distance >= (1 - ALIKE_SHARE) * distance.max())
    return int(ties[ties.size // 2])


def trial_of_points(section: Section, x: Array, base: float, of_base: Array) -> Trial:
    """The trial of a section's backward, which returned ``of_base`` for ``base``, at the points ``x``."""
    noise = cache(partial(noise_along_points, section, x, base, of_base))
    return Trial(partial(section.gradient, x), x, section.dtype, section.dtype, base, noise)


def trial_on_matrix(section: Section, trial: Trial) -> Trial:
    """The trial of an elementwise Function with an even number of the points as a 2 × n matrix, to be transposed.

    Its calls raise ``FunctionFailed`` where the Function does not map that matrix to one of the same shape.
    """
    x = trial.x[: trial.x.size // 2 * 2]

    def call(*arguments: Any) -> Any:
        return section.call(*(each.view(2, -1) if isinstance(each, torch.Tensor) else each for each in arguments))

    ask = _asked_whole(replace(section, call=call), x, x.size, (2, x.size // 2))
    return replace(trial, ask=ask, x=x, noise=cache(lambda: np.asarray(trial.noise())[: x.size]))


def trial_of_tensor(section: Section, t: Array, base: float, given: Array, span: float) -> tuple[Trial, Array] | None:
    """The trial of backward with a grad_output over the whole output at ``t``, and what it returned for ``given``.

    That is such a grad_output, about as large as ``base``. None where there is no gradient. Raises ``FunctionFailed``.
    """
    laid = partial(_laid, given)
    if (gradient := section.vjp(t, laid)) is None:
        return None
    ask, noise = _asked_whole(section, t, gradient.size), cache(partial(_noise_at, section, t, span, laid))
    place = np.full(gradient.size, t[0] if t.size == 1 else math.nan)
    return Trial(ask, place, section.dtype, section.dtype, base, noise, whole=True), gradient


def _asked_whole(section: Section, t: Array, size: int, shape: tuple[int, ...] | None = None) -> Ask:
    """Asks for all ``size`` numbers of ``grad_input`` in one call, for an output of this ``shape`` if one is given."""

    def ask(given: Given, layout: Layout) -> Array:
        def laid(out: torch.Tensor) -> torch.Tensor:
            if shape not in (None, tuple(out.shape)):
                raise FunctionFailed(Failure("forward", "WrongShape", f"a matrix became {list(out.shape)}"))
            return layout(_laid(given, out))

        found = section.vjp(t, laid)
        return np.zeros(size) if found is None else found

    return ask


def _laid(given: Given, out: torch.Tensor) -> torch.Tensor:
    """A grad_output for the output ``out``: one number everywhere, or one for each element."""
    if np.ndim(given) == 0:
        return torch.full(out.shape, float(given), dtype=out.dtype, device=out.device)
    return torch.from_numpy(np.array(given)).to(out.device, out.dtype).view(out.shape)


def noise_along_points(
    section: Section,
    x: Array,
    base: float,
    of_base: Array,
    probed: Array | None = None,
    double: Batch | None = None,
) -> Array:
    """The rounding noise of the gradient at every ``x``; in a shorter dtype at least what it loses to double precision.

    Another kernel than the one that returned ``of_base`` loses as much, but at other points. ``probed`` is what is
    returned at ``probes_along`` them, and ``double`` the section in double precision, where these are known.
    """
    lost = np.zeros(x.size)
    if section.dtype != torch.float64:
        double = double or find_reference(Batch(section), x, base)
        lost = moving_maximum(lost_to_double(section, double.section, x, base, of_base, double.gradient), _NEAR)
    try:
        probed = section.backward(probes_along(section, x), base).grad_input if probed is None else probed
    except FunctionFailed:
        return lost
    return lost if probed is None else np.maximum(lost, noise_along(probed, x, largest_magnitude(of_base)))


def probes_along(section: Section, x: Array) -> Array:
    """The points that tell the noise of a section along ``x``."""
    return section.snap(noise_probes(x, float(x[-1] - x[0])))


def _noise_at(section: Section, t: Array, span: float, cotangent: Callable[[torch.Tensor], torch.Tensor]) -> float:
    """The rounding noise of all elements of a gradient, from its sixth differences along ``t``.

    On the calmer side of ``t``: a kink is no noise.
    """
    steps = _NOISE_DISTANCE * span * np.arange(1, _NOISE_ORDER + 2)

    def on_side(side: float) -> float:
        found = [section.vjp(section.snap(t + side * step), cotangent) for step in steps]
        gradients = [each for each in found if each is not None]
        if len(gradients) <= _NOISE_ORDER:
            return 0.0
        return largest_magnitude(np.diff(np.stack(gradients), _NOISE_ORDER, axis=0)) / _NOISE_GAIN

    try:
        return min(on_side(-1.0), on_side(1.0))
    except FunctionFailed:
        return 0.0
