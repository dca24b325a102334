"""Finite differences of forward: the derivative of a weighted sum of all outputs by each element of a tensor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch

from ...runtime import timing
from .call import Call, TensorsByName

# How many elements of a tensor are measured, and the time limit for all of them in seconds.
_LIMIT, _SECONDS = 24, 0.1
_STEP, _LEVELS = 1e-3, 3
# A slope counts as known if its error is at most this fraction of 1 + its magnitude.
_TOLERANCE = 1e-4
# Where forward is smooth, the difference between the two one-sided slopes shrinks with the step; at a kink it stays.
_KINK_RATIO = 0.6


@dataclass(frozen=True)
class TensorSlopes:
    """The derivative by each element of a tensor, and whether it is ``known``; both in the shape of the tensor.

    It is not known at kinks, jumps and the edge of a domain, nor for elements that were not measured.
    """

    value: torch.Tensor
    known: torch.Tensor

    def differs(self, gradient: torch.Tensor | None) -> torch.Tensor:
        """Where a gradient differs from a known slope by more than the tolerance."""
        given = torch.zeros_like(self.value) if gradient is None else gradient.detach().to(self.value)
        if given.shape != self.value.shape:
            return self.known
        scale = self.value.abs() + self._largest()
        return self.known & ~((given - self.value).abs() <= 1e-6 + 1e-3 * scale)

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


def tensor_slopes(call: Call, name: str, weights: TensorsByName) -> TensorSlopes:
    """The derivative of Σ weight · output by the elements of one tensor. Raises whatever forward raises."""
    held = call.tensors[name]

    def total(x: torch.Tensor) -> float:
        outputs = call.value(**{name: x})
        return sum(weighted_sum(outputs[each], weight) for each, weight in weights.items())

    return slopes_of_function(total, held)


def weighted_sum(output: torch.Tensor, weight: torch.Tensor) -> float:
    """Σ weight · output; for complex numbers the real part of Σ conj(weight) · output, as torch defines a loss."""
    summed = (output.to(weight.dtype) * weight.conj()).sum()
    return float(summed.real if summed.is_complex() else summed)


def slopes_of_function(total: Callable[[torch.Tensor], float], held: torch.Tensor) -> TensorSlopes:
    """The derivative of a scalar function by the elements of a tensor: at most 24 of them, and within the time limit.

    Central differences with Richardson extrapolation.
    """
    value = torch.zeros_like(held)
    known = torch.zeros(held.shape, dtype=torch.bool)
    middle, until = total(held), timing.now() + _SECONDS
    count = held.numel()
    for place in {round(k * (count - 1) / max(1, min(_LIMIT, count) - 1)) for k in range(min(_LIMIT, count))}:
        found, known_slope = _slope(total, held, place, middle)
        value.view(-1)[place], known.view(-1)[place] = found, known_slope
        if timing.now() > until:
            break
    typical = float(value[known].abs().max()) if bool(known.any()) else 0.0
    return TensorSlopes(value, known & (value.abs() <= 1e8 * (1 + typical)))


def _slope(total: Callable[[torch.Tensor], float], held: torch.Tensor, place: int, middle: float) -> tuple[float, bool]:
    x = float(held.view(-1)[place])

    def at(where: float) -> float:
        moved = held.clone()
        moved.view(-1)[place] = where
        return total(moved)

    central, sides, step = [], [], _STEP * max(1.0, abs(x))
    for level in range(_LEVELS):
        h = step / 2**level
        above, below = at(x + h), at(x - h)
        central.append((above - below) / (2 * h))
        sides.append((above + below - 2 * middle) / h)
    once = [(4 * fine - coarse) / 3 for coarse, fine in pairwise(central)]
    best = (16 * once[1] - once[0]) / 15
    rounding = 16 * torch.finfo(held.dtype).eps * (abs(middle) + abs(x * best)) / (step / 4)
    error = abs(best - once[1]) + rounding
    kinked = abs(sides[2]) > _KINK_RATIO * abs(sides[0]) and abs(sides[2]) > 16 * rounding + _TOLERANCE * abs(best)
    return best, error <= _TOLERANCE * (abs(best) + 1) and not kinked
