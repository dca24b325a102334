"""The autograd graph of one call: its leaves and outputs, the nodes of Functions written in Python, and whether one
is ``@once_differentiable``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction, _SingleLevelFunction, once_differentiable

from .arguments import input_shape, returned_values
from .section import Section
from .vjp import pull_back, uneven

FunctionClass = type[torch.autograd.Function]


def has_setup_context(function: FunctionClass) -> bool:
    """Whether the Function defines ``setup_context``, so that forward has no ctx."""
    return function.setup_context is not _SingleLevelFunction.setup_context


def backward_name(function: FunctionClass) -> str:
    """The name under which the Function defines its backward."""
    return "vjp" if function.vjp is not _SingleLevelFunction.vjp else "backward"


def _nodes(outputs: Iterable[torch.Tensor]) -> Iterator[Any]:
    """All nodes behind ``outputs``, breadth first, each once."""
    left, seen = deque[Any](out.grad_fn for out in outputs), set[Any]()
    while left:
        node = left.popleft()
        if node is not None and node not in seen:
            seen.add(node)
            left.extend(before for before, _ in node.next_functions)
            yield node


def function_nodes(outputs: Iterable[torch.Tensor]) -> Iterator[Any]:
    """The nodes of Python Functions behind ``outputs``, breadth first, each once."""
    return (node for node in _nodes(outputs) if isinstance(node, BackwardCFunction))


def leaves_behind(outputs: Iterable[torch.Tensor]) -> Iterator[torch.Tensor]:
    """The leaves that require grad behind ``outputs``, each once."""
    return (node.variable for node in _nodes(outputs) if hasattr(node, "variable"))


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
        outputs = dict(zip(section.op.outputs, returned_values(y), strict=False))
        return cls(leaves, dict(zip(dict(section.inputs), given, strict=True)), outputs)

    def nodes(self) -> Iterator[Any]:
        """The nodes of Functions written in Python, nearest to the outputs first."""
        return function_nodes(self.outputs.values())

    def gradients(self) -> list[torch.Tensor | None]:
        """The gradients of all inputs for an irregular ``grad_output`` of every output. Raises what backward raises."""
        moved = [out for out in self.outputs.values() if out.requires_grad]
        return pull_back(moved, map(uneven, moved), self.leaves)


def input_tensor(section: Section, name: str, values: tuple[float, ...]) -> torch.Tensor:
    """A single copy of an input with these values, in the section's dtype and on its device."""
    return torch.tensor(values, dtype=section.dtype, device=section.device).reshape(input_shape(section.op, name))


def input_leaf(section: Section, name: str, values: tuple[float, ...], t: float) -> torch.Tensor:
    """An input at its held value, with the swept element at ``t``, as a leaf that requires grad."""
    leaf = input_tensor(section, name, values)
    if name == section.wrt:
        leaf[section.wrt_index or ...] = t
    return leaf.requires_grad_()


# All functions that the decorator makes share the code of its wrapper.
_ONCE = once_differentiable(lambda ctx: None).__code__
# The name of the node that the decorator puts into the graph, and how many nodes are searched for it.
_ERROR, _MOST_NODES = "Error", 4096


def declares_once(function: type[torch.autograd.Function]) -> bool:
    """Whether ``backward`` (or ``vjp``) is decorated, under other decorators or as a classmethod too."""
    return any(_decorated(getattr(function, name, None)) for name in ("backward", "vjp"))


def refuses_differentiation(gradient: torch.Tensor) -> bool:
    """Whether the graph of ``gradient`` contains the decorator's error node, so that it cannot be differentiated."""
    return any(type(node).__name__ == _ERROR for node in islice(_nodes([gradient]), _MOST_NODES))


def _decorated(method: Any) -> bool:
    while method is not None:
        plain = getattr(method, "__func__", method)
        if getattr(plain, "__code__", None) is _ONCE:
            return True
        method = getattr(plain, "__wrapped__", None)
    return False
