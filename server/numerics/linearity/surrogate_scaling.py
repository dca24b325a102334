"""Whether a surrogate that depends on ``grad_output`` explains a gradient that is not proportional to it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import torch

from ...runtime.arrays import Array
from ...runtime.batching import WITNESSES
from ...runtime.failure import FunctionFailed
from ...runtime.section import Section
from .laws import Linearity

# The factors of grad_output at which backward and surrogate are compared.
_SIZES = (2.0**-8, -(2.0**-8), -1.0, 2.0**8, -(2.0**8))
# The relative tolerance: the surrogate is differentiated in double precision, backward may run in half.
_ROUNDED = 1e-2


def surrogate_explains_scaling(section: Section, x: Array, grad_output: float, linearity: Linearity) -> bool:
    """Whether backward breaks ``scales`` just as its surrogate predicts, at grad_outputs of every size.

    The surrogate is differentiated by autograd, at a few of the points ``x``.
    """
    if not (section.op.follows_sign and grad_output and linearity.breaks("scales")):
        return False
    at = x[(WITNESSES * x.size).astype(np.intp)]
    try:
        return all(_as_meant(section, at, size * grad_output) for size in _SIZES)
    except FunctionFailed:
        return False


def _as_meant(section: Section, x: Array, grad_output: float) -> bool:
    surrogate = section.op.surrogate
    assert surrogate is not None
    call = partial(surrogate, grad_output=grad_output)
    meant = replace(section, call=call, dtype=torch.float64, device="cpu", stacked=()).backward(x, grad_output)
    returned = section.backward(x, grad_output)
    if returned.grad_input is None or meant.grad_input is None:
        return False
    return np.allclose(returned.grad_input, meant.grad_input, rtol=_ROUNDED, atol=0.0)
