"""The laws of an elementwise backward, from a few calls in which points have grad_outputs of all sizes and signs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from ...runtime.arrays import Array
from ...runtime.failure import FunctionFailed
from ...runtime.remembered import remembered, stand_in
from ...runtime.section import Section
from ...runtime.vjp import Layout, dense
from ..differentiation.noise import noise_probes
from .check import LARGE_POWER, SUM_TOLERANCE, LawTest, PointTrial, layouts_of, random_numbers, trial_of
from .gradient_noise import gradient_noise_along
from .violation import Violation

_POINTS = 64  # budget: the points, even in number, at which an elementwise backward is asked for 0 and in other layouts


def elementwise_violations(
    section: Section, x: Array, base: float, of_base: Array, given: Array, found: Array
) -> list[Violation] | None:
    """The violations of an elementwise backward that returned ``of_base`` for ``base`` and ``found`` for ``given``.

    They are found in few calls where backward keeps to all sizes of grad_output, and to its sign if it is not meant to
    follow that; else the answer is None, and the laws are to be tested one by one.
    """
    signs = _ask_by_sign(section, x, base, of_base) if section.op.follows_sign else None
    opposite = signs.of_opposite if signs else -of_base
    drawn = replace(trial_of(section, x, base, of_base), backward=lambda grad_output, layout: found)
    finite = np.isfinite(of_base).all() and np.isfinite(opposite).all()
    if not (finite and drawn.holds(_test_of_sizes(base, of_base, opposite, given, dense))):
        return None
    if not _bears_zero_and_layouts(section, stand_in(base)):
        return None
    return signs.violations() if signs else []


def _test_of_sizes(
    base: float, of_base: Array, opposite: Array, grad_output: Array, layout: Layout, rounding: float = 0.0
) -> LawTest[float | Array]:
    """For grad_outputs of all sizes what was returned for ``base``, or for its ``opposite``, in proportion."""
    count, share = grad_output.size, grad_output / base
    known = np.where(share < 0, -opposite[:count], of_base[:count]) * (share != 0)
    return LawTest(grad_output, math.nan, known, np.where(share == 0, 1.0, share), rounding, layout)


@remembered()
@np.errstate(all="ignore")
def _bears_zero_and_layouts(section: Section, base: float) -> bool:
    """Whether an elementwise backward returns 0 for 0, and the same for all layouts, in the declared domain."""
    domain = next(each.domain for each in section.op.inputs if each.name == section.wrt)
    x = np.linspace(*domain, _POINTS)
    try:
        trial = trial_of(section, x, base, x)
        of_base, laid = trial.backward(base, dense), layouts_of(section, trial)
        opposite = trial.backward(-base, dense) if section.op.follows_sign else -of_base
    except FunctionFailed:
        return False
    if laid.trial is trial or not (np.isfinite(of_base).all() and np.isfinite(opposite).all()):
        return False
    sizes = partial(_test_of_sizes, base, of_base, opposite, rounding=SUM_TOLERANCE[section.dtype.itemsize])
    small, both = np.full(_POINTS, -base * 2.0**-LARGE_POWER), base + base * random_numbers(_POINTS)[0]
    return (
        trial.holds(LawTest(0.0, 0.0, 0 * of_base))
        and laid.trial.holds(sizes(small, laid.equal))
        and laid.trial.holds(sizes(both, laid.any))
    )


@dataclass(frozen=True)
class _Signs:
    """What an elementwise backward returned for ``base``, for its opposite, for ``random`` numbers and ``both``."""

    trial: PointTrial
    of_base: Array
    of_opposite: Array
    random: Array
    of_random: Array
    of_both: Array

    def violations(self) -> list[Violation]:
        """The violations of a backward that is proportional to grad_output, but differently so for either sign."""
        base, both = self.trial.base, self.trial.base + self.random
        sums = SUM_TOLERANCE[self.trial.inside.itemsize]
        odd = LawTest[float | Array](-base, -base, self.of_base, -1.0)
        added = LawTest[float | Array](both, both, self.of_base + self.of_random, 1.0, sums)
        found = (
            replace(self.trial, backward=lambda grad_output, layout: self.of_opposite).violation("odd", odd),
            replace(self.trial, backward=lambda grad_output, layout: self.of_both).violation("adds", added),
        )
        return [each for each in found if each]


def _ask_by_sign(section: Section, x: Array, base: float, of_base: Array) -> _Signs:
    """What backward returns for grad_outputs of both signs, and its noise, in one call."""
    count, random = x.size, base * random_numbers(x.size)[0]
    probes = noise_probes(x, float(x[-1] - x[0]))
    given = np.concatenate((np.full(count, -base), random, base + random, np.full(probes.size, base)))
    gradient = section.backward(np.concatenate((x, x, x, probes)), given).grad_input
    found = np.zeros(given.size) if gradient is None else gradient
    noise = cache(partial(gradient_noise_along, section, x, base, of_base, found[3 * count :]))
    trial = replace(trial_of(section, x, base, of_base), noise=noise)
    return _Signs(trial, of_base, found[:count], random, found[count : 2 * count], found[2 * count : 3 * count])
