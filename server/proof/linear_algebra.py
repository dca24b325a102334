"""Equations, inverses, determinants and Cholesky's factor, as formulas of other operations, in exact arithmetic.

Torch exchanges rows against rounding; here a pivot that may be 0 decides nothing. Factors that torch returns besides
are unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def _eliminated(a: Any, b: Any) -> tuple[Tensor, list[Tensor]]:
    """The solution of a x = b, and the pivots, none of which may be 0: by Gauss and Jordan, rows as they stand."""
    rows, pivots, size = torch.cat([a, b], -1), [], a.shape[-1]
    for k in range(size):
        pivot = rows[..., k : k + 1, k : k + 1]
        row = rows[..., k : k + 1, :] / pivot
        above, below = rows[..., :k, :], rows[..., k + 1 :, :]
        rows = torch.cat([above - above[..., k : k + 1] * row, row, below - below[..., k : k + 1] * row], -2)
        pivots.append(pivot[..., 0, 0])
    return rows[..., size:], pivots


def _unknown(a: Any) -> Tensor:
    return torch.full_like(a, math.nan)


def _whole(*shape: int) -> Tensor:
    return torch.zeros(shape, dtype=torch.int32)


def _solve(a: Any, b: Any, *, left: bool = True, check_errors: bool = False) -> tuple[Tensor, ...]:
    """``linalg.solve``, whose factors are not known."""
    vector = b.dim() == 1 or (b.dim() == a.dim() - 1 and b.shape == a.shape[:-1])
    columns = b.unsqueeze(-1) if vector else b
    if left:
        found, _ = _eliminated(a, columns.expand(*a.shape[:-1], columns.shape[-1]))
    else:
        found = _eliminated(a.mT, columns.mT)[0].mT
    return found.squeeze(-1) if vector else found, _unknown(a), _whole(*a.shape[:-1]), _whole(*a.shape[:-2])


def _solve_triangular(a: Any, b: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """``linalg.solve_triangular``."""
    off = int(unitriangular)
    part = a.triu(off) if upper else a.tril(-off)
    part = part + torch.eye(a.shape[-1], dtype=a.dtype) if unitriangular else part
    return _solve(part, b, left=left)[0]


def _inverse(a: Any, *, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    """``linalg.inv``."""
    return _eliminated(a, torch.eye(a.shape[-1], dtype=a.dtype).expand(a.shape))[0], _whole(*a.shape[:-2])


def _determinant(a: Any) -> tuple[Tensor, ...]:
    """``linalg.det``, whose factors are not known."""
    return math.prod(_eliminated(a, a[..., :0])[1]), _unknown(a), _whole(*a.shape[:-1])  # type: ignore[return-value]


def _log_determinant(a: Any) -> tuple[Tensor, ...]:
    """``linalg.slogdet``, whose factors are not known."""
    found, *factors = _determinant(a)
    return found.sgn(), found.abs().log(), *factors


def _cholesky(a: Any, *, upper: bool = False, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    """``linalg.cholesky``, of which one triangle is read."""
    rest, columns = a.mT if upper else a, []
    for k in range(a.shape[-1]):
        below = rest[..., k:, k : k + 1] / rest[..., k : k + 1, k : k + 1].sqrt()
        columns.append(torch.cat([torch.zeros_like(rest[..., :k, k : k + 1]), below], -2))
        rest = rest - columns[-1] * columns[-1].mT
    found = torch.cat(columns, -1)
    return found.mT if upper else found, _whole(*a.shape[:-2])


LINEAR_ALGEBRA: dict[str, Callable[..., Any]] = {
    "_linalg_solve_ex": _solve,
    "linalg_solve_triangular": _solve_triangular,
    "linalg_inv_ex": _inverse,
    "_linalg_det": _determinant,
    "_linalg_slogdet": _log_determinant,
    "linalg_cholesky_ex": _cholesky,
}
