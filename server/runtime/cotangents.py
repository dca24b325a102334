"""An elementwise Function given its points in two rows, as a matrix: only there can ``grad_output`` lie transposed."""

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


def even(count: int) -> int:
    """How many of the points fill two rows."""
    return count // 2 * 2


def on_a_sheet(section: Section, x: Array) -> Callable[[float | Array, Layout], Array]:
    """What asks backward for its answer at as many of the points ``x`` as fill two rows, one number each.

    What is asked raises ``FunctionFailed``, also where the Function does not take a matrix for so many numbers.
    """
    x = x[: even(x.size)]

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
