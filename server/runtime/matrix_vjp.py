"""The vector-Jacobian product of an elementwise Function on a 2 × n matrix, where ``grad_output`` can be transposed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from .arrays import Array
from .failure import Failure, FunctionFailed
from .section import Section
from .vjp import Layout


def even_count(count: int) -> int:
    """The largest even number of points, which fill two rows."""
    return count // 2 * 2


def vjp_on_matrix(section: Section, x: Array) -> Callable[[float | Array, Layout], Array]:
    """A function of (grad_output, layout) that returns ``grad_input`` at the points ``x``, passed as a 2 × n matrix.

    It raises ``FunctionFailed``, also where the Function does not map that matrix to one of the same shape.
    """
    x = x[: even_count(x.size)]

    def call(*arguments: Any) -> Any:
        return section.call(*(each.view(2, -1) if isinstance(each, torch.Tensor) else each for each in arguments))

    cut = replace(section, call=call)

    def ask(given: float | Array, layout: Layout) -> Array:
        def laid(out: torch.Tensor) -> torch.Tensor:
            if out.shape != (2, x.size // 2):
                raise FunctionFailed(Failure("forward", "WrongShape", f"a matrix became {list(out.shape)}"))
            numbers = torch.from_numpy(np.broadcast_to(given, x.shape).copy())
            return layout(numbers.to(out.device, out.dtype).view(out.shape))

        found = cut.vjp(x, laid)
        return np.zeros(x.shape) if found is None else found

    return ask
