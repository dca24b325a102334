"""How far backward may be off before it is accused."""

from __future__ import annotations

from dataclasses import dataclass

import torch

# Units in the last place, of itself and of the largest slope in sight, that a correct backward may lose,
# by the size of the dtype in bytes: long ones have places to spare.
PLACES = {8: 4096.0, 4: 1024.0, 2: 8.0}


@dataclass(frozen=True)
class Tolerance:
    """``|analytical − numerical| <= atol + rtol |numerical|``, beyond the numerical error bound."""

    atol: float
    rtol: float


def chosen(in_sight: float, dtype: torch.dtype) -> Tolerance:
    """Some last places of the dtype, of the slope itself and of ``in_sight``, the largest ``grad_input`` to be seen."""
    precision = PLACES[dtype.itemsize] * torch.finfo(dtype).eps
    least = max(precision * in_sight, torch.finfo(dtype).tiny)
    return Tolerance(atol=min(least, torch.finfo(torch.float64).max), rtol=precision)
