"""The sampler of a Jacobian: copies of a Function's inputs, each with its own ``wrt``, batched or one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from .arrays import Array, dtype_name
from .failure import Failure, FunctionFailed
from .section import Section
from .vjp import float64_array

Indices = NDArray[np.intp]

BATCH_ELEMENTS = 1 << 18  # budget: the numbers in one batch (2 MiB of float64): bigger batches are slower


@dataclass(frozen=True)
class JacobianRows:
    """Rows of the analytical Jacobian: ``grad_input`` for some outputs (outputs × elements of ``wrt``).

    ``gradients`` is None for a parameter, and for an output that carries no gradient. ``none`` says that backward
    returned None, which autograd treats as zeros (and zeros are what is stored).
    """

    gradients: Array | None
    none: bool


@dataclass(frozen=True)
class InputCopies:
    """The Function of a section, as a map from all elements of ``wrt`` to all elements of the output ``of``.

    Everything else is held. Copies share calls where the section stacks inputs. With ``only`` = (first, end) just that
    range of the flattened output is returned.
    """

    section: Section
    only: tuple[int, int] | None = None

    @cached_property
    def here(self) -> Array:
        """The held value of ``wrt``, flat in row-major order; a parameter is one number."""
        held: dict[str, Any] = dict(self.section.inputs)
        name = self.section.wrt
        here = np.array(held[name] if name in held else (dict(self.section.parameters)[name],), dtype=np.float64)
        here.flags.writeable = False
        return here

    @cached_property
    def output(self) -> torch.Tensor:
        """The output of one copy alone. Raises ``FunctionFailed`` where forward fails."""
        alone = self.section.alone()
        with torch.no_grad():
            return alone.whole_output(self.here[None])

    @property
    def integer(self) -> str:
        """The name of an integer or boolean output dtype, which has no gradient; empty for real or complex ones."""
        dtype = self.output.dtype
        return "" if dtype.is_floating_point or dtype.is_complex else dtype_name(dtype)

    @cached_property
    def size(self) -> int:
        return self.output.numel()

    def forward(self, points: Array) -> Array:
        """The output (copies × elements) for every row of ``points`` (copies × elements of ``wrt``).

        Raises ``FunctionFailed``.
        """
        with torch.no_grad():
            shared = points.flags.writeable and not self._writes
            parts = [self._flat(self.section.whole_output(some, shared), len(some)) for some in self._chunks(points)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def willing(self, points: Array) -> Array:
        """As ``forward``, with NaN at points that the Function rejects."""
        try:
            return self.forward(points)
        except FunctionFailed:
            if len(points) == 1:
                return np.full((1, self.size), np.nan)[:, self._seen]
        alone = InputCopies(self.section.alone(), self.only)
        return np.concatenate([alone.willing(each[None]) for each in points])

    def rows(self, which: Indices, grad_output: float) -> JacobianRows:
        """``grad_input`` for ``grad_output`` at each of these outputs alone, in as few calls as possible.

        Raises ``FunctionFailed``.
        """
        parts, size = [], self._at_once if self.section.stacked else 1
        for first in range(0, which.size, size):
            some = which[first : first + size]
            given = np.zeros((some.size, self.size))
            given[np.arange(some.size), some] = grad_output
            pulled = self.pulled(self.repeated(some.size), given)
            if pulled.gradients is None or some.size == which.size:
                return pulled
            parts.append(pulled)
        return JacobianRows(np.concatenate([each.gradients for each in parts]), any(each.none for each in parts))

    def repeated(self, copies: int) -> Array:
        """The held value of ``wrt``, repeated (copies × elements)."""
        points = np.empty((copies, self.here.size))
        points[:] = self.here
        return points

    def pulled(self, points: Array, grad_output: Array) -> JacobianRows:
        """``grad_input`` at every row of ``points`` for the same row of ``grad_output``, in one call."""

        def given(out: torch.Tensor) -> torch.Tensor:
            if out.numel() != grad_output.size:
                raise self.wrong(f"returned {self.section.of!r} in several shapes")
            return torch.from_numpy(grad_output).to(out.device, out.dtype).reshape(out.shape)

        gradient, none = self.section.vjp_or_none(points, given)
        return JacobianRows(None if gradient is None else gradient.reshape(points.shape), none)

    def _chunks(self, points: Array) -> Iterator[Array]:
        size = self._at_once if self.section.stacked else 1
        for first in range(0, len(points), size):
            yield points[first : first + size]

    @property
    def _seen(self) -> slice:
        return slice(None) if self.only is None else slice(*self.only)

    @cached_property
    def _at_once(self) -> int:
        return max(1, BATCH_ELEMENTS // max(self.here.size, self.size))

    @cached_property
    def _writes(self) -> bool:
        """Whether forward modifies its input in place."""
        points = self.repeated(1)
        with torch.no_grad():
            self.section.alone().whole_output(points, shared=True)
        return not np.array_equal(points[0], self.here, equal_nan=True)

    def _flat(self, out: torch.Tensor, copies: int) -> Array:
        apart = out.dim() > 0 and out.shape[0] % copies == 0 and out.numel() == copies * self.size
        if self.section.stacked and copies > 1 and not apart:
            raise self.wrong(f"returned {self.section.of!r} of shape {list(out.shape)}")
        if out.numel() != copies * self.size:
            raise self.wrong(f"returned {self.section.of!r} in several shapes")
        return float64_array(out.reshape(copies, self.size)[:, self._seen])

    def wrong(self, message: str) -> FunctionFailed:
        """A ``FunctionFailed`` of kind WrongShape with this message."""
        return FunctionFailed(Failure(self.section.phase, "WrongShape", f"{self.section.phase} {message}"))
