"""Detection of ``@once_differentiable``: on a backward's code, and in the graph of a gradient."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.function import once_differentiable

# All functions that the decorator makes share the code of its wrapper.
_ONCE = once_differentiable(lambda ctx: None).__code__
# The name of the node that the decorator puts into the graph, and how many nodes are searched for it.
_ERROR, _MOST = "Error", 4096


def declares_once(function: type[torch.autograd.Function]) -> bool:
    """Whether ``backward`` (or ``vjp``) is decorated, under other decorators or as a classmethod too."""
    return any(_decorated(getattr(function, name, None)) for name in ("backward", "vjp"))


def refuses_differentiation(gradient: torch.Tensor) -> bool:
    """Whether the graph of ``gradient`` contains the decorator's error node, so that it cannot be differentiated."""
    left, seen = [gradient.grad_fn], set[Any]()
    while left and len(seen) < _MOST:
        node = left.pop()
        if node is None or node in seen:
            continue
        if type(node).__name__ == _ERROR:
            return True
        seen.add(node)
        left += [before for before, _ in node.next_functions]
    return False


def _decorated(method: Any) -> bool:
    while method is not None:
        plain = getattr(method, "__func__", method)
        if getattr(plain, "__code__", None) is _ONCE:
            return True
        method = getattr(plain, "__wrapped__", None)
    return False
