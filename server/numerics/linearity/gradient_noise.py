"""The rounding noise of what backward returns, which may be all that is left where its terms cancel."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch

from ...runtime.arrays import Array, largest_magnitude
from ...runtime.failure import FunctionFailed
from ...runtime.reference import lost_to_double, reference_of
from ...runtime.section import Section
from ..differentiation.noise import moving_maximum, noise_along, noise_probes

# sample: the distance of the points at which the noise of a tensor's gradient is measured, as a share of the range: so
# large that terms near 1 change by some last places; and the order of the differences that cancel whatever is smooth.
_NOISE_DISTANCE, _NOISE_ORDER = 1e-4, 6
_NOISE_GAIN = math.sqrt(math.comb(2 * _NOISE_ORDER, _NOISE_ORDER))  # unit: by which such a difference multiplies noise
_NEAR = 2  # bound: what is lost at a row may be lost at so many rows on either side of it


def gradient_noise_along(section: Section, x: Array, base: float, of_base: Array, probed: Array | None = None) -> Array:
    """The rounding noise of the gradient at every ``x``; in a shorter dtype at least what it loses to double precision.

    Another kernel than the one that returned ``of_base`` loses as much, but at other points. ``probed`` is the gradient
    at the ``noise_probes``, if it is known.
    """
    lost = np.zeros(x.size)
    if section.dtype != torch.float64:
        lost = moving_maximum(lost_to_double(section, reference_of(section, x, base), x, base, of_base), _NEAR)
    try:
        if probed is None:
            probed = section.backward(section.snap(noise_probes(x, float(x[-1] - x[0]))), base).grad_input
    except FunctionFailed:
        return lost
    return lost if probed is None else np.maximum(lost, noise_along(probed, x, largest_magnitude(of_base)))


def gradient_noise_at(
    section: Section, t: Array, span: float, cotangent: Callable[[torch.Tensor], torch.Tensor]
) -> float:
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
