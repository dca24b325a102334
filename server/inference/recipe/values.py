"""How the tensors of a recipe are filled: always the same, with values of two decimal places."""

from __future__ import annotations

import math

import torch

# A value nearer to 0, where many kinks lie, is replaced.
_LEAST, INSTEAD = 0.05, 0.25
# What is positive is a probability too, and so is what it lacks to 1.
LOW, HIGH = 0.1, 0.9
TINY = 1e-12


def filled(shape: tuple[int, ...], dtype: str, fill: str, below: int, seed: int) -> torch.Tensor:
    """A tensor of this shape and dtype, and of one of the fills of a recipe: the same for the same seed everywhere.

    What is ``positive`` or ``negative`` is up to 1 in size, ``signs`` are -1 or 1, what is ``rising`` goes from -1 to 1
    along the last dimension, and what is ``tiny`` vanishes beside any other number. An ``index`` is < ``below``, and
    ``shuffled`` are all places of the last dimension in another order. ``spd`` fills the last two dimensions with
    symmetric positive definite matrices, which they stay when rounded.
    """
    numbers = torch.Generator().manual_seed(seed)
    kind = getattr(torch, dtype)
    count = torch.arange(math.prod(shape)).reshape(shape)
    if fill == "index":
        return count.remainder(max(1, below)).to(kind)
    if fill == "shuffled":
        return (count + 1).remainder(max((1, *shape[-1:]))).to(kind)
    if fill == "rising":
        return torch.linspace(-1, 1, shape[-1] if shape else 1, dtype=torch.float64).expand(shape).clone().to(kind)
    if fill == "tiny":
        return torch.full(shape, TINY, dtype=torch.float64).to(kind)
    if fill == "mask":
        return (count % 3 != 1).to(kind)
    if fill in ("positive", "negative"):
        share = _rounded(LOW + (HIGH - LOW) * torch.rand(shape, generator=numbers, dtype=torch.float64))
        return (share if fill == "positive" else -share).to(kind)
    values = torch.randn(shape, generator=numbers, dtype=torch.float64)
    if fill == "signs":
        return torch.where(values < 0, -1, 1).to(kind)
    if fill == "spd":
        return _definite(values).to(kind)
    return _rounded(torch.where(values.abs() < _LEAST, INSTEAD, values)).to(kind)


def _definite(values: torch.Tensor) -> torch.Tensor:
    """Symmetric positive definite matrices out of any square ones: diagonally dominant, so rounding does no harm."""
    half = _rounded((values + values.mT) / 4)
    return half + torch.diag_embed(_rounded(half.abs().sum(dim=-1) + 0.5))


def _rounded(values: torch.Tensor) -> torch.Tensor:
    return (values * 100).round() / 100
