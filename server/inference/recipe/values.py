"""Deterministic fills of the tensors of a recipe, with values of two decimal places."""

from __future__ import annotations

import math

import torch

# Normal values closer to 0, where many Functions have kinks, are replaced by INSTEAD.
_LEAST, INSTEAD = 0.05, 0.25
# Range of positive values: p and 1 - p are both probabilities.
LOW, HIGH = 0.1, 0.9
TINY = 1e-12


def fill_tensor(shape: tuple[int, ...], dtype: str, fill: str, below: int, seed: int) -> torch.Tensor:
    """A tensor of this shape, dtype and fill; the same seed gives the same values everywhere.

    ``positive`` and ``negative`` are at most 1 in magnitude, ``signs`` are -1 or 1, ``rising`` goes from -1 to 1 along
    the last dimension, ``tiny`` is negligible beside any other number. An ``index`` is < ``below``, ``shuffled`` is a
    permutation of the last dimension, and ``spd`` are symmetric positive definite matrices in the last two.
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
    """Symmetric positive definite matrices from square ones: diagonally dominant, so rounding does no harm."""
    half = _rounded((values + values.mT) / 4)
    return half + torch.diag_embed(_rounded(half.abs().sum(dim=-1) + 0.5))


def _rounded(values: torch.Tensor) -> torch.Tensor:
    return (values * 100).round() / 100
