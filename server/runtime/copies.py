"""Where the copies of a tensor lie in one that holds them all: along a dimension of it, or along a new first one."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import torch

Index = tuple[int, ...]
CopyAxis = int | None  # None stands for a new dimension before the others


def place_of(index: Index, shape: Index) -> int:
    """Where an element is in row-major order; a single number has no index."""
    return int(np.ravel_multi_index(index, shape)) if index else 0


def copy_shape(sizes: Index, copies: int, axis: CopyAxis) -> Index | None:
    """The shape of one of the copies that lie along ``axis`` of a tensor; None where so many cannot lie there."""
    if axis is None or not sizes:
        return sizes[1:] if (sizes[0] if sizes else 1) == copies else None
    if not sizes[axis:] or sizes[axis] % copies:
        return None
    shape = [*sizes]
    shape[axis] //= copies
    return (*shape,)


def apart(tensor: torch.Tensor, copies: int, axis: CopyAxis = 0) -> torch.Tensor:
    """The copies that lie along ``axis`` of a tensor, one after the other: copies × the shape of one."""
    shape = copy_shape(tensor.shape, copies, axis)
    if shape is None:
        raise ValueError(f"a tensor of shape {list(tensor.shape)} holds no {copies} copies along {axis}")
    if not axis:
        return tensor.reshape(copies, *shape)
    return torch.unflatten(tensor, axis, (copies, shape[axis])).movedim(axis - (axis < 0), 0)


def together(copies: torch.Tensor, axis: CopyAxis = 0) -> torch.Tensor:
    """One tensor of the copies (copies × the shape of one), which lie along its ``axis``."""
    if axis is None:
        return copies
    if not axis:
        return copies.flatten(0, 1)
    at = axis - (axis < 0)
    return copies.movedim(0, at).flatten(at, at + 1)


def pick_elements(tensor: torch.Tensor, copies: int, index: Index, axis: CopyAxis) -> torch.Tensor:
    """The element at ``index`` of every copy, 1-D, as a view; without an index the only one there is."""
    if tensor.shape == (copies,):
        return tensor
    if axis:
        place: tuple[slice | int, ...] = (slice(None), *index)
        return apart(tensor, copies, axis)[place]
    return tensor.reshape(-1)[_every_copy(tensor.shape[axis is None :], tensor.numel() // copies, index)]


@lru_cache(maxsize=1024)
def _every_copy(sizes: Index, size: int, index: Index) -> slice:
    """Where the element at ``index`` of copies of so many elements each lies in all of them, flattened."""
    return slice(sum(i * math.prod(sizes[axis + 1 :]) for axis, i in enumerate(index)), None, size)
