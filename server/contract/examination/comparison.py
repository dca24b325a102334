"""Compares two sets of gradients that should be equal: which differ, and the two elements farthest apart."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from ...numerics.formatting.numbers import format_distinct
from ...runtime.recorder import same_elements
from .call import GradientsByName
from .probe import shape_as_tuple

_Pair = tuple[torch.Tensor, torch.Tensor]


def differing_gradients(some: GradientsByName, others: GradientsByName) -> Iterator[tuple[str, _Pair]]:
    """The gradients that are not bitwise equal, by name; None counts as zeros."""
    for name, one in some.items():
        other = others[name]
        given = one if one is not None else other
        if given is not None:
            zeros = torch.zeros_like(given)
            pair = (zeros if one is None else one, zeros if other is None else other)
            if not same_elements(*pair):
                yield name, pair


def farthest_elements(one: torch.Tensor, other: torch.Tensor) -> tuple[str, str]:
    """The two elements that are farthest apart, as text; the shapes if those differ."""
    if one.shape != other.shape or not one.numel():
        return f"shape {shape_as_tuple(one.shape)}", f"shape {shape_as_tuple(other.shape)}"
    a, b = (each.detach().reshape(-1).to(torch.complex128) for each in (one, other))
    far = (torch.nan_to_num(a) - torch.nan_to_num(b)).abs()
    row = int(torch.where(a.isnan() != b.isnan(), torch.inf, far).argmax())
    first, second = float(a[row].real), float(b[row].real)
    return format_distinct(first, second), format_distinct(second, first)
