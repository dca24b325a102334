"""Vector-Jacobian products: running backward with a given cotangent (``grad_output``), in any memory layout."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from .arrays import Array
from .copies import CopyAxis, Index, apart, pick_elements
from .user_call import call_user_code

_ENGINE: Any = torch.autograd.Variable._execution_engine
Layout = Callable[[torch.Tensor], torch.Tensor]
# sample: fills the memory between and behind the cotangent's elements: what ignores strides returns this multiple.
_FILLER = -3.0


def make_cotangent(
    out: torch.Tensor, grad_output: float | Array, copies: int, index: Index | None, axis: CopyAxis, layout: Layout
) -> torch.Tensor:
    """The cotangent of ``out``: at ``index`` of each of the copies the same number, or its own; 0 elsewhere.

    Where ``index`` is None each copy has a row of numbers, one for each of its elements.
    """
    if out.numel() == copies:
        if not isinstance(grad_output, np.ndarray):
            return layout(torch.full(out.shape, grad_output, dtype=out.dtype, device=out.device))
        return layout(torch.from_numpy(grad_output).to(out.device, out.dtype, copy=True).reshape(out.shape))
    cotangent = torch.zeros(out.shape, dtype=out.dtype, device=out.device)
    elements = apart(cotangent, copies, axis) if index is None else pick_elements(cotangent, copies, index, axis)
    if isinstance(grad_output, np.ndarray):
        elements.copy_(torch.from_numpy(grad_output).reshape(elements.shape))
    else:
        elements.fill_(grad_output)
    return layout(cotangent)


def pull_back(
    outputs: Iterable[torch.Tensor],
    cotangents: Iterable[torch.Tensor],
    leaves: Iterable[torch.Tensor],
    retain_graph: bool = False,
    create_graph: bool = False,
) -> list[torch.Tensor | None]:
    """The gradient of each leaf for a cotangent of each output: None if there is none, sparse ones made dense.

    Cotangents arrive with their memory layout preserved. Raises whatever backward raises. The engine is called as
    ``torch.autograd.grad`` calls it, which first imports sympy, and takes twice the time for a few numbers.
    """
    keep = retain_graph or create_graph
    found = call_user_code(
        _ENGINE.run_backward,
        tuple(outputs),
        tuple(cotangents),
        keep,
        create_graph,
        tuple(leaves),
        allow_unreachable=True,
        accumulate_grad=False,
    )
    return [each if each is None else _stored(each) for each in found]


def _stored(gradient: torch.Tensor) -> torch.Tensor:
    """A gradient in memory of its own: of a sparse one all elements, of zeros that torch has not written the zeros.

    As an array of NumPy the latter are whatever the memory holds, up to torch 2.4.
    """
    if gradient._is_zerotensor():
        return gradient.clone()
    return gradient if gradient.layout == torch.strided else gradient.to_dense()


def float64_array(tensor: torch.Tensor) -> Array:
    """The numbers of a tensor as an array of float64."""
    double = tensor if tensor.dtype == torch.float64 else tensor.detach().to("cpu", torch.float64)
    array: Array = double.numpy(force=True)
    return array


def uneven(like: torch.Tensor) -> torch.Tensor:
    """Numbers of a tensor's shape that do not cancel in any simple sum."""
    return torch.cos(torch.arange(1.0, 1 + like.numel(), dtype=like.dtype, device=like.device)).reshape(like.shape)


def dense(grad_output: torch.Tensor) -> torch.Tensor:
    """The contiguous layout."""
    return grad_output


def expanded(grad_output: torch.Tensor) -> torch.Tensor:
    """Stride 0 over the first of its (equal) numbers: the layout behind ``y.sum()``."""
    memory = _FILLER * grad_output.reshape(-1)
    memory[0] = grad_output.reshape(-1)[0]
    return memory.as_strided(grad_output.shape, (0,) * grad_output.dim())


def strided(grad_output: torch.Tensor) -> torch.Tensor:
    """Stride 2: every other number in memory, the layout behind a slice or a column."""
    return torch.stack((grad_output, _FILLER * grad_output), -1)[..., 0]


def transposed(grad_output: torch.Tensor) -> torch.Tensor:
    """The last dimension outermost in memory: the layout behind ``y.T``."""
    return grad_output.movedim(-1, 0).contiguous().movedim(0, -1) if grad_output.dim() else grad_output


def swapped(grad_output: torch.Tensor) -> torch.Tensor:
    """The first two of three and more dimensions swapped in memory: the layout behind ``y.transpose(0, 1)``."""
    return grad_output.transpose(0, 1).contiguous().transpose(0, 1) if grad_output.dim() > 2 else grad_output


@dataclass(frozen=True)
class MonitoredLayout:
    """The contiguous layout, with a copy of each cotangent kept to detect whether backward has modified it.

    ``between`` is called after forward and before backward.
    """

    between: Callable[[], object] = lambda: None
    kept: list[tuple[torch.Tensor, torch.Tensor, int]] = field(default_factory=list)

    def __call__(self, grad_output: torch.Tensor) -> torch.Tensor:
        self.between()
        self.kept.append((grad_output, grad_output.clone(), grad_output._version))
        return grad_output

    @property
    def size(self) -> int:
        """The number of elements in one cotangent."""
        return self.kept[0][0].numel() if self.kept else 0

    @property
    def written(self) -> bool:
        """Whether one was modified: by its version counter, or by value where the write bypassed autograd."""
        return any(now._version != version or not torch.equal(now, then) for now, then, version in self.kept)

    def numbers(self) -> tuple[Array, Array]:
        """The elements of all cotangents, before backward and now."""
        before = torch.cat([each.reshape(-1) for _, each, _ in self.kept])
        return float64_array(before), float64_array(torch.cat([each.reshape(-1) for each, _, _ in self.kept]))
