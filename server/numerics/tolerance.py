"""The tolerance (atol, rtol) within which an analytical and a numerical slope agree, by dtype."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

T = TypeVar("T", float, NDArray[np.float64], torch.Tensor)

# ulps: what a correct backward may lose, of its own slope and of the largest visible one, by the size of the dtype in
# bytes: a long dtype can spare more of them.
TOLERANCE_ULPS = {8: 4096.0, 4: 1024.0, 2: 8.0}
# bound: in float64 a difference of at most this share of the slope at its place is a remark: torch's trigamma is off
# by 5e-10, a constant of ten digits by as much; what was held in float32, by 6e-8, has lost half of its digits.
REMARK_SHARE = 1e-9
UNDECIDED_SHARE = 0.1  # bound: where an error band is wider than this share of the slopes in sight, nothing is decided


@dataclass(frozen=True)
class Tolerance:
    """``|analytical − numerical| <= atol + rtol |numerical|``, on top of the numerical error bound."""

    atol: float
    rtol: float

    def margin(self, expected: T, share: T | float = 1.0) -> T:
        """The largest difference from ``expected`` that is tolerated; ``share`` is how much of ``atol`` holds there."""
        return self.atol * share + self.rtol * abs(expected)


@dataclass(frozen=True)
class Allowance:
    """The tolerance that was asked for, None where it is to be chosen by the ``dtype``: one for all views."""

    dtype: torch.dtype
    atol: float | None = None
    rtol: float | None = None

    @property
    def remarks(self) -> bool:
        """Whether small differences are remarks: who asks for a tolerance wants to know what is beyond it."""
        return self.dtype == torch.float64 and self.atol is None and self.rtol is None

    def tolerance(self, largest_gradient: float) -> Tolerance:
        """The tolerance where the largest visible ``grad_input`` is this."""
        usual = tolerance_for(largest_gradient, self.dtype)
        return Tolerance(usual.atol if self.atol is None else self.atol, usual.rtol if self.rtol is None else self.rtol)


USUAL = Allowance(torch.float64)  # unit: what is allowed in double precision where nothing was asked for


def tolerance_for(largest_gradient: float, dtype: torch.dtype) -> Tolerance:
    """The default tolerance of a dtype; the largest visible ``grad_input`` sets the scale of atol."""
    precision = TOLERANCE_ULPS[dtype.itemsize] * torch.finfo(dtype).eps
    least = max(precision * largest_gradient, torch.finfo(dtype).tiny)
    return Tolerance(atol=min(least, torch.finfo(torch.float64).max), rtol=precision)
