"""The second derivative at some points, by autograd and by differences of what backward returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Array
from ...runtime.batching import arranged
from ...runtime.failure import Failure, FunctionFailed
from ...runtime.section import Section
from ..curve.curve import inside
from ..differentiation.finite_differences import Kind, differentiate
from ..differentiation.reference import reference_of
from .grad_input import derived

# Compared with what they mean: whether the two are the same but for the error of the differences, and rounding.
_BOUNDS, _RTOL = 10.0, 1e-6


@dataclass(frozen=True)
class SecondOrder:
    """∂grad_input/∂x at the points ``x``, one element each.

    ``analytical`` is what double backward returns, 0 where autograd finds no history (``history`` is False then); None
    where backward is declared ``@once_differentiable`` (``declared``), or raises when it is to be differentiated
    (``failure``). ``numerical`` are differences of what backward returns, known to ``error``, to be believed where
    ``smooth``: elsewhere it has a kink or jumps.
    """

    x: Array
    analytical: Array | None
    numerical: Array
    error: Array
    smooth: NDArray[np.bool_]
    declared: bool
    history: bool
    failure: Failure | None

    @property
    def differs(self) -> NDArray[np.bool_]:
        """Where the two are known to differ; nowhere if there is nothing to compare."""
        if self.analytical is None:
            return np.zeros(self.x.size, np.bool_)
        scale = np.abs(self.numerical) + np.abs(self.analytical)
        allowed = _BOUNDS * self.error + _RTOL * (scale + np.max(scale[self.smooth], initial=0.0))
        off: NDArray[np.bool_] = self.smooth & (np.abs(self.analytical - self.numerical) > allowed)
        return off


@np.errstate(all="ignore")  # what overflows is not smooth
def second_order(section: Section, x: Array, grad_output: float = 1.0, span: float | None = None) -> SecondOrder:
    """Look at the second derivative of ``section`` at ``x`` (1-D), for this ``grad_output``.

    ``span`` is the length of the range that decides the steps; that of the input's domain if None. Raises
    ``FunctionFailed`` where forward or backward itself fails, or returns no gradient for what is swept.
    """
    further = arranged(derived(section, grad_output), x)
    reference = reference_of(further, x)
    values = reference.forward(x)
    domain = next(each.domain for each in section.op.inputs if each.name == section.wrt)
    slopes = differentiate(inside(reference, x), x, values, span or domain[1] - domain[0])
    analytical, history, failure = None, True, None
    try:
        returned = further.backward(x, 1.0)
        analytical, history = returned.grad_input, not returned.none
    except FunctionFailed as error:
        failure = error.failure
    return SecondOrder(
        x=x,
        analytical=analytical,
        numerical=slopes.value,
        error=slopes.error,
        smooth=(slopes.kind == Kind.SMOOTH) & np.isfinite(slopes.value),
        declared=failure is None and analytical is None,
        history=history,
        failure=failure,
    )
