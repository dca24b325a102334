"""Finite differences of forward: the derivative of a weighted sum of all outputs by each element of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from ...numerics.differentiation.finite_differences import (
    EVIDENCE_BOUNDS,
    LEVELS,
    Ladder,
    PointKind,
    widest_step,
)
from ...numerics.tolerance import REMARK_SHARE, Allowance, T
from ...runtime.arguments import BoundFunction, ConstantArgument
from ...runtime.arrays import EPSILON, Forward
from ...runtime.call_cost import estimated_seconds
from .call import Call, TensorsByName

# budget: how many elements of a tensor are measured: at most, at least, and in between as many as take so long.
_MOST, _LEAST, _SECONDS = 24, 2, 0.1
_SHORT = 2.0**-12  # bound: with less precision than this steps are as large as what a difference could tell
# bound: a slope counts as known if its error is at most this fraction of 1 + its magnitude.
_KNOWN = 1e-4


@dataclass(frozen=True)
class TensorSlopes:
    """The derivative by each element of a tensor, its error bound, and whether it is ``known``, in the tensor's shape.

    It is not known at kinks, jumps and the edge of a domain, nor for elements that were not measured. The bound counts
    no noise of forward but the rounding of its result. ``allowance`` is the tolerance that was asked for.
    """

    value: torch.Tensor
    error: torch.Tensor
    known: torch.Tensor
    allowance: Allowance

    def differs(self, gradient: torch.Tensor | None) -> torch.Tensor:
        """Where a gradient differs from a known slope by more than the tolerance."""
        given = torch.zeros_like(self.value) if gradient is None else gradient.detach().to(self.value)
        if given.shape != self.value.shape:
            return self.known
        scale = self.value.abs() + self._largest()
        return self.known & ~((given - self.value).abs() <= 1e-6 + 1e-3 * scale)

    def doubts(self, gradient: torch.Tensor) -> torch.Tensor:
        """Where a gradient differs from a known slope by more than the error bound and the tolerance of the curves."""
        apart = (gradient.detach().to(self.value) - self.value).abs()
        return self.known & ~(apart <= self.allowed(self.value, self.error))

    def allowed(self, slope: T, error: T) -> T:
        """The largest difference of a right gradient from a ``slope`` with this error bound."""
        return self.allowance.tolerance(self.largest).margin(slope) + EVIDENCE_BOUNDS * error

    def remarks(self, apart: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
        """Where a difference in float64 is a remark: by the slope at its place, by the largest if that is nothing."""
        scale = torch.where(slope.abs() > REMARK_SHARE * self._largest(), slope.abs(), self._largest())
        return (apart <= REMARK_SHARE * scale) & self.allowance.remarks

    def agrees(self, gradient: torch.Tensor | None) -> bool:
        """Whether some slopes are known, and a gradient equals all of those."""
        return bool(self.known.any()) and not bool(self.differs(gradient).any())

    def of_a_triangle(self, gradient: torch.Tensor | None) -> bool:
        """Whether forward reads one triangle of symmetric matrices, and the gradient is spread over both triangles.

        Such a gradient is right although it differs from the slopes of the single elements (as of Cholesky).
        """
        slope, known = self.value, self.known
        if gradient is None or gradient.shape != slope.shape or slope.dim() < 2 or slope.shape[-1] != slope.shape[-2]:
            return False
        given = gradient.detach().to(slope)
        near = torch.isclose(given + given.mT, slope + slope.mT, 1e-3, 1e-3 * self.largest)
        upper, lower = torch.triu(known, 1), torch.tril(known, -1)
        return any(
            not bool(slope[unread].any()) and bool(near[known & ~unread].all())
            for read, unread in ((lower, upper), (upper, lower))
            if bool(read.any())
        )

    @property
    def largest(self) -> float:
        """The largest magnitude of a known slope."""
        return float(self._largest())

    @property
    def moves(self) -> bool:
        return self.largest > 1e-7

    def _largest(self) -> torch.Tensor:
        known = torch.where(self.known, self.value, 0.0).abs()
        return known.max() if known.numel() else torch.zeros(())


def tensor_slopes(call: Call, name: str, weights: TensorsByName, also: Sequence[int] = ()) -> TensorSlopes:
    """The derivative of Σ weight · output by the elements of one tensor. Raises whatever forward raises.

    Where it has many, of some, and those in the places ``also``.

    None is known where an output has 16 bits: its steps are as large as what a difference could tell. What forward
    computes in float32 is judged so.
    """
    slopes = slopes_of_function(total_of(call, name, weights), call.tensors[name], call.precision, also)
    dtype = slopes.value.dtype if call.precision == EPSILON else torch.float32
    slopes = replace(slopes, allowance=replace(call.allowance, dtype=dtype))
    return replace(slopes, known=torch.zeros_like(slopes.known)) if call.precision > _SHORT else slopes


def undeclared_slopes(call: Call, weights: TensorsByName) -> Iterator[tuple[ConstantArgument, TensorSlopes]]:
    """The tensors that a call holds constant though nobody declared so, each with its slopes."""
    bound = call.op.call if isinstance(call.op.call, BoundFunction) else BoundFunction(call.callee, ())
    for held in bound.arguments:
        if isinstance(held, ConstantArgument) and held.undeclared:

            def total(x: torch.Tensor, held: ConstantArgument = held) -> float:
                moved = tuple(replace(held, value=x) if each is held else each for each in bound.arguments)
                return weighted_total(call.through(replace(bound, arguments=moved)).value(), weights)

            yield held, slopes_of_function(total, held.of(tuple(call.tensors.values())), call.precision)


def total_of(call: Call, name: str, weights: TensorsByName) -> Callable[[torch.Tensor], float]:
    """Σ weight · output as a function of one tensor."""

    def total(x: torch.Tensor) -> float:
        return weighted_total(call.value(**{name: x}), weights)

    return total


def weighted_total(outputs: TensorsByName, weights: TensorsByName) -> float:
    """Σ weight · output; for complex numbers the real part of Σ conj(weight) · output, as torch defines a loss."""
    pairs = [(outputs[each], weight) for each, weight in weights.items() if each in outputs]
    return sum(float((out.to(weight.dtype) * weight.conj()).sum().real) for out, weight in pairs)


@np.errstate(all="ignore")
def slopes_of_function(
    total: Callable[[torch.Tensor], float],
    held: torch.Tensor,
    precision: float,
    also: Sequence[int] = (),
) -> TensorSlopes:
    """The derivative of a scalar function by the elements of a tensor, or by some of many, with the ladder of curves.

    Among these are those in the places ``also``. ``precision`` is half a unit in the last place of what the function
    computes in, if that is less precise than the tensor. Raises whatever ``total`` raises.
    """
    some = np.linspace(0, held.numel() - 1, _count(total, held)).round()
    places = np.union1d(some, also).astype(np.intp)
    x = held.detach().reshape(-1).double().numpy(force=True)[places]
    y = np.full(x.size, total(held))
    precision = max(precision, precision_of(held))
    widest = widest_step(1.0, precision) * np.maximum(1.0, np.abs(x))
    ladder = Ladder.around(
        *(function_along(total, held, places), x, widest, 0.0, precision, y),
        snap=lambda points: torch.from_numpy(points).to(held.dtype).double().numpy(),
    )
    slopes = ladder.slopes(lambda rows: function_along(total, held, places[rows]), lambda value: 1.0)
    known = (slopes.kind == PointKind.SMOOTH) & (slopes.error <= _KNOWN * (np.abs(slopes.value) + 1))
    typical = np.abs(slopes.value[known]).max(initial=0.0)
    known &= np.abs(slopes.value) <= 1e8 * (1 + typical)
    value, error, is_known = (tensor_of_elements(each, places, held) for each in (slopes.value, slopes.error, known))
    return TensorSlopes(value, error, is_known, Allowance(held.dtype))


def _count(total: Callable[[torch.Tensor], float], held: torch.Tensor) -> int:
    """How many elements are measured."""
    if held.numel() <= _LEAST:
        return held.numel()
    seconds = estimated_seconds(lambda: total(held))
    return min(held.numel(), max(_LEAST, min(_MOST, int(_SECONDS / max(2 * LEVELS * seconds, EPSILON)))))


def precision_of(tensor: torch.Tensor) -> float:
    """Half a unit in the last place of a tensor's dtype."""
    return torch.finfo(tensor.dtype).eps / 2


def function_along(total: Callable[[torch.Tensor], float], held: torch.Tensor, places: NDArray[np.intp]) -> Forward:
    """A scalar function as one of single elements of a tensor: of those at ``places`` in turn, over and over."""

    def forward(t: NDArray[np.float64]) -> NDArray[np.float64]:
        values = np.empty(t.size)
        for row, number in enumerate(t):
            moved = held.clone()
            moved.view(-1)[places[row % places.size]] = float(number)
            values[row] = total(moved)
        return values

    return forward


def tensor_of_elements(found: NDArray[np.generic], places: NDArray[np.intp], like: torch.Tensor) -> torch.Tensor:
    """A tensor in the shape of another with what was found at some places, and zeros elsewhere."""
    numbers = np.zeros(like.numel(), found.dtype)
    numbers[places] = found
    tensor = torch.from_numpy(numbers).reshape(like.shape)
    return tensor if found.dtype == np.bool_ else tensor.to(like.dtype)
