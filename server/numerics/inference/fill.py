"""How the tensors of a recipe are filled: always the same, with values of two decimal places."""

from __future__ import annotations

import math

import torch

# A value nearer to 0, where many kinks lie, is replaced.
LEAST, INSTEAD = 0.05, 0.25
# What is positive is a probability too, and so is what it lacks to 1.
LOW, HIGH = 0.1, 0.9


def filled(shape: tuple[int, ...], dtype: str, fill: str, below: int, seed: int) -> torch.Tensor:
    """A tensor of this shape and dtype: ``normal``, ``positive`` (up to 1), ``signs``, ``spd``, ``index`` or ``mask``.

    The same for the same seed on every machine. ``signs`` are -1 or 1. An ``index`` is < ``below``; ``spd`` fills the
    last two dimensions with symmetric positive definite matrices, which they stay when rounded.
    """
    numbers = torch.Generator().manual_seed(seed)
    kind = getattr(torch, dtype)
    count = torch.arange(math.prod(shape)).reshape(shape)
    if fill == "index":
        return count.remainder(max(1, below)).to(kind)
    if fill == "mask":
        return (count % 3 != 1).to(kind)
    if fill == "positive":
        return _rounded(LOW + (HIGH - LOW) * torch.rand(shape, generator=numbers, dtype=torch.float64)).to(kind)
    values = torch.randn(shape, generator=numbers, dtype=torch.float64)
    if fill == "signs":
        return torch.where(values < 0, -1, 1).to(kind)
    if fill == "spd":
        return definite(values).to(kind)
    return _rounded(torch.where(values.abs() < LEAST, INSTEAD, values)).to(kind)


def definite(values: torch.Tensor) -> torch.Tensor:
    """Symmetric positive definite matrices out of any square ones: diagonally dominant, so rounding does no harm."""
    half = _rounded((values + values.mT) / 4)
    return half + torch.diag_embed(_rounded(half.abs().sum(dim=-1) + 0.5))


def _rounded(values: torch.Tensor) -> torch.Tensor:
    return (values * 100).round() / 100
