"""The autograd graph of one call: its leaves and outputs, and the nodes of Functions written in Python."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction

from .arguments import input_shape
from .section import Section
from .vjp import leaf_gradients


def function_nodes(outputs: Iterable[torch.Tensor]) -> Iterator[Any]:
    """The nodes of Python Functions behind ``outputs``, breadth first, each once."""
    left, seen = deque[Any](out.grad_fn for out in outputs), set[Any]()
    while left:
        node = left.popleft()
        if node is not None and node not in seen:
            seen.add(node)
            left.extend(before for before, _ in node.next_functions)
            if isinstance(node, BackwardCFunction):
                yield node


@dataclass(frozen=True)
class CallGraph:
    """All inputs of a section as leaves, the copies of them that the op was called with, and its outputs."""

    leaves: list[torch.Tensor]
    given: dict[str, torch.Tensor]
    outputs: dict[str, torch.Tensor]

    @classmethod
    def of(cls, section: Section, t: float) -> CallGraph:
        """The graph with the swept element at ``t``. Raises whatever forward raises."""
        leaves = [input_leaf(section, name, values, t) for name, values in section.inputs]
        # An in-place Function cannot take a leaf.
        given = [leaf.clone() for leaf in leaves]
        y = section.call(*given, *(value for _, value in section.parameters))
        outputs = dict(zip(section.op.outputs, y if isinstance(y, tuple) else (y,), strict=False))
        return cls(leaves, dict(zip(dict(section.inputs), given, strict=True)), outputs)

    def nodes(self) -> Iterator[Any]:
        """The nodes of Functions written in Python, nearest to the outputs first."""
        return function_nodes(self.outputs.values())

    def gradients(self) -> list[torch.Tensor | None]:
        """The gradients of all inputs for an irregular ``grad_output`` of every output. Raises what backward raises."""
        moved = [out for out in self.outputs.values() if out.requires_grad]
        weights = [torch.cos(torch.arange(1.0, 1 + out.numel(), dtype=out.dtype, device=out.device)) for out in moved]
        total: Any = sum(torch.dot(out.reshape(-1), w) for out, w in zip(moved, weights, strict=True))
        return leaf_gradients(total, self.leaves)


def input_leaf(section: Section, name: str, values: tuple[float, ...], t: float) -> torch.Tensor:
    """An input at its held value, with the swept element at ``t``, as a leaf that requires grad."""
    leaf = torch.tensor(values, dtype=section.dtype, device=section.device).reshape(input_shape(section.op, name))
    if name == section.wrt:
        leaf[section.wrt_index or ...] = t
    return leaf.requires_grad_()
