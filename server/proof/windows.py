"""Convolutions and pools, as formulas of other operations: what they make of the elements of each window."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import torch
from torch import Tensor

from .column import Undecided
from .formulas import order_of


def _windows(
    x: Any, size: Sequence[int], stride: Any, padding: Any, dilation: Any, around: float = 0.0
) -> tuple[Tensor, list[int]]:
    """The elements of each window along one more dimension, the last; and how many windows there are."""
    rank = len(size)
    x = torch.constant_pad_nd(x, [each for side in reversed(padding) for each in (side, side)], around)
    counts = [
        (length - gap * (width - 1) - 1) // step + 1
        for length, width, step, gap in zip(x.shape[-rank:], size, stride, dilation, strict=True)
    ]
    places = product(*(range(0, gap * width, gap) for width, gap in zip(size, dilation, strict=True)))
    steps = [
        [slice(at, at + step * (count - 1) + 1, step) for at, step, count in zip(place, stride, counts, strict=True)]
        for place in places
    ]
    return torch.stack([x[(..., *each)] for each in steps], -1), counts


def _convolution(
    x: Any,
    weight: Any,
    bias: Any,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    output_padding: list[int],
    groups: int,
) -> Tensor:
    """As torch's: of a batch, by windows; transposed, with zeros between the elements and the weights turned round."""
    size = list(weight.shape[2:])
    if transposed:
        for axis, step in enumerate(stride, 2):
            apart = torch.stack([x, *[torch.zeros_like(x)] * (step - 1)], axis + 1).flatten(axis, axis + 1)
            x = apart.narrow(axis, 0, apart.shape[axis] - step + 1)
        x = torch.constant_pad_nd(x, [each for more in reversed(output_padding) for each in (0, more)])
        weight = weight.unflatten(0, (groups, -1)).transpose(1, 2).flatten(0, 1).flip(tuple(range(2, x.dim())))
        padding = [gap * (width - 1) - side for width, gap, side in zip(size, dilation, padding, strict=True)]
        stride = [1] * len(size)
    windows, counts = _windows(x, size, stride, padding, dilation)
    of_groups = windows.reshape(windows.shape[0], groups, 1, -1, *windows.shape[2:])
    weights = weight.flatten(2).unflatten(0, (groups, -1)).unflatten(-1, (*[1] * len(counts), -1))
    found: Tensor = (of_groups * weights).sum((3, -1)).flatten(1, 2)
    return found if bias is None else found + bias.reshape(-1, *[1] * len(counts))


def _pair(sizes: Any, otherwise: Any = None) -> list[int]:
    given = [sizes] if isinstance(sizes, int) else sizes or otherwise
    return list(given) * (2 if len(given) == 1 else 1)


def _mean(
    x: Any, size: Any, stride: Any = (), padding: Any = 0, ceil: bool = False, padded: bool = True, divisor: Any = None
) -> Tensor:
    """``avg_pool2d``. Raises ``Undecided`` where windows stand out, or what is around does not count."""
    if ceil or (any(_pair(padding)) and not padded):
        raise Undecided("a mean of windows that are not whole")
    found, _ = _windows(x, _pair(size), _pair(stride, size), _pair(padding), [1, 1])
    return found.sum(-1) / (divisor or math.prod(_pair(size)))


def _largest(
    x: Any, size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil: bool = False
) -> tuple[Tensor, Tensor]:
    """``max_pool2d`` with the places of the largest. Raises ``Undecided`` where windows stand out."""
    if ceil:
        raise Undecided("the largest of windows that are not whole")
    cut = (_pair(size), _pair(stride, size), _pair(padding), _pair(dilation))
    found, _ = _windows(x, *cut, around=-math.inf)
    places, _ = _windows(torch.arange(x.shape[-2] * x.shape[-1]).reshape(x.shape[-2:]), *cut)
    order = order_of(found, -1, 1, True)
    return found.gather(-1, order).squeeze(-1), places.expand(found.shape).gather(-1, order).squeeze(-1)


WINDOWS: dict[str, Callable[..., Any]] = {
    "convolution": _convolution,
    "avg_pool2d": _mean,
    "max_pool2d_with_indices": _largest,
}
