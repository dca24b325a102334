"""Tensors that are of a kind while they are moved: symmetric, orthogonal, of norm 1, or adding up to 1."""

from __future__ import annotations

from collections.abc import Callable

import torch

_STEPS = 12  # pattern: each step squares the distance of the singular values from 1


def keep_values(tensor: torch.Tensor, kind: str) -> torch.Tensor:
    """The tensor of a ``kind`` that is near this one, and is this one if it is of that kind; autograd goes through it.

    Of the last two dimensions ``symmetric`` is the symmetric part, ``orthogonal`` the orthogonal factor; ``unit``
    is divided by its norm along the last dimension, and ``marginal`` moved alike along the last dimension that has
    several elements, to add up to 1. A step of one element would lead out of such tensors.
    """
    return KINDS[kind](tensor)


def spread_dim(shape: tuple[int, ...]) -> int:
    """The last dimension that has several elements, from the end; the last one where none has."""
    return next((place - len(shape) for place in reversed(range(len(shape))) if shape[place] > 1), -1)


def _orthogonal(tensor: torch.Tensor) -> torch.Tensor:
    """By the iteration of Newton and Schulz, from singular values below 1."""
    found = tensor / torch.linalg.matrix_norm(tensor, keepdim=True)
    for _ in range(_STEPS):
        found = 1.5 * found - 0.5 * found @ found.mT @ found
    return found


def _marginal(tensor: torch.Tensor) -> torch.Tensor:
    dim = spread_dim(tuple(tensor.shape))
    return tensor + (1 - tensor.sum(dim, keepdim=True)) / tensor.shape[dim]


KINDS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "symmetric": lambda tensor: (tensor + tensor.mT) / 2,
    "orthogonal": _orthogonal,
    "unit": lambda tensor: tensor / torch.linalg.vector_norm(tensor, dim=-1, keepdim=True),
    "marginal": _marginal,
}
