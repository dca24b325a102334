"""The nodes that Functions written in Python leave in the graph of autograd."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction


def nodes(outputs: Iterable[torch.Tensor]) -> Iterator[Any]:
    """Those behind ``outputs``, nearest to them first, each once."""
    left, seen = deque[Any](out.grad_fn for out in outputs), set[Any]()
    while left:
        node = left.popleft()
        if node is not None and node not in seen:
            seen.add(node)
            left.extend(before for before, _ in node.next_functions)
            if isinstance(node, BackwardCFunction):
                yield node
