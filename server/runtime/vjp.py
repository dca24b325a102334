"""A ``grad_output`` as a tensor, and how it may lie in memory: every backward must answer the same for all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from .arrays import Array

Layout = Callable[[torch.Tensor], torch.Tensor]
# What lies between and behind the numbers handed over: a backward that reads it returns this many times as much.
ASTRAY = -3.0


class Handed(torch.autograd.Function):
    """A root of the graph whose backward hands over one tensor as the ``grad_output``, as it lies in memory.

    ``torch.autograd.grad(grad_outputs=…)`` would do so too, but imports sympy first.
    """

    @staticmethod
    def forward(ctx: Any, y: torch.Tensor, grad_output: torch.Tensor) -> torch.Tensor:
        ctx.grad_output = grad_output
        return y.new_zeros(())

    @staticmethod
    def backward(ctx: Any, *_: torch.Tensor) -> tuple[torch.Tensor, None]:
        return ctx.grad_output, None


def cotangent(
    out: torch.Tensor, grad_output: float | Array, copies: int, index: tuple[int, ...], layout: Layout
) -> torch.Tensor:
    """The ``grad_output`` of all of ``out``: one number, or one for each of the stacked ``copies``, at ``index``.

    All other elements have 0.
    """
    if out.numel() == copies:
        whole = asked = torch.empty(out.shape, dtype=out.dtype, device=out.device)
    else:
        whole = torch.zeros(out.shape, dtype=out.dtype, device=out.device)
        place: tuple[slice | int, ...] = (slice(None), *index)
        asked = whole.view(copies, -1, *out.shape[1:])[place]
    if isinstance(grad_output, np.ndarray):
        asked.copy_(torch.from_numpy(grad_output).reshape(asked.shape))
    else:
        asked.fill_(grad_output)
    return layout(whole)


def delivered(
    root: torch.Tensor, leaves: Iterable[torch.Tensor], retain_graph: bool = False, create_graph: bool = False
) -> list[torch.Tensor | None]:
    """What ``torch.autograd.grad`` finds for each leaf: None where nothing came, one that came sparse in full.

    Raises whatever backward raises.
    """
    found = torch.autograd.grad(root, list(leaves), None, retain_graph or create_graph, create_graph, allow_unused=True)
    return [each if each is None or each.layout == torch.strided else each.to_dense() for each in found]


def dense(grad_output: torch.Tensor) -> torch.Tensor:
    """As torch makes tensors."""
    return grad_output


def expanded(grad_output: torch.Tensor) -> torch.Tensor:
    """The first of its numbers, which should all be equal, read again and again: what ``y.sum()`` hands over."""
    memory = ASTRAY * grad_output.reshape(-1)
    memory[0] = grad_output.reshape(-1)[0]
    return memory.as_strided(grad_output.shape, (0,) * grad_output.dim())


def strided(grad_output: torch.Tensor) -> torch.Tensor:
    """Every other number in memory: what a slice or a column hands over."""
    return torch.stack((grad_output, ASTRAY * grad_output), -1)[..., 0]


def transposed(grad_output: torch.Tensor) -> torch.Tensor:
    """The last dimension outermost in memory: what ``y.T`` hands over."""
    return grad_output.movedim(-1, 0).contiguous().movedim(0, -1) if grad_output.dim() else grad_output


@dataclass(frozen=True)
class Watched:
    """The dense layout, that remembers what it was handed: whether and how backward has written to it.

    ``between`` is done after forward and before backward.
    """

    between: Callable[[], object] = lambda: None
    kept: list[tuple[torch.Tensor, torch.Tensor, int]] = field(default_factory=list)

    def __call__(self, grad_output: torch.Tensor) -> torch.Tensor:
        self.between()
        self.kept.append((grad_output, grad_output.clone(), grad_output._version))
        return grad_output

    @property
    def size(self) -> int:
        """How many numbers were handed over in one call."""
        return self.kept[0][0].numel() if self.kept else 0

    @property
    def written(self) -> bool:
        """Whether one was written to, the same numbers included; a write past autograd leaves other numbers only."""
        return any(now._version != version or not torch.equal(now, then) for now, then, version in self.kept)

    def numbers(self) -> tuple[Array, Array]:
        """What was handed over, and what stands there now, one number after another."""
        return _numbers([then for _, then, _ in self.kept]), _numbers([now for now, _, _ in self.kept])


def _numbers(tensors: list[torch.Tensor]) -> Array:
    return torch.cat([each.reshape(-1) for each in tensors]).to("cpu", torch.float64).numpy()


class Root(torch.autograd.Function):
    """The root of a graph from which backward starts with any ``grad_output``, handed over as it lies in memory.

    ``torch.autograd.grad(grad_outputs=…)`` would do so too, but imports sympy first, and makes zeros of None.
    """

    @staticmethod
    def forward(ctx: Any, *both: torch.Tensor | None) -> torch.Tensor:
        ctx.handed = both[len(both) // 2 :]
        return torch.zeros((), dtype=torch.float64)

    @staticmethod
    def backward(ctx: Any, *_: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return (*ctx.handed, *(None for _ in ctx.handed))
