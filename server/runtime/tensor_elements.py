"""Single elements of a tensor: a function along each of them, and what was found for some as a tensor again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from .arrays import Forward


def function_along(total: Callable[[torch.Tensor], float], held: torch.Tensor, places: NDArray[np.intp]) -> Forward:
    """A scalar function as one of single elements of a tensor: of those at ``places`` in turn, over and over."""

    def forward(t: NDArray[np.float64]) -> NDArray[np.float64]:
        values = np.empty(t.size)
        for row, number in enumerate(t):
            moved = held.clone()
            moved.view(-1)[places[row % places.size]] = float(number)
            values[row] = total(moved)
        return values

    return forward


def tensor_of_elements(found: NDArray[np.generic], places: NDArray[np.intp], like: torch.Tensor) -> torch.Tensor:
    """A tensor in the shape of another with what was found at some places, and zeros elsewhere."""
    numbers = np.zeros(like.numel(), found.dtype)
    numbers[places] = found
    tensor = torch.from_numpy(numbers).reshape(like.shape)
    return tensor if found.dtype == np.bool_ else tensor.to(like.dtype)
