"""The tolerance (atol, rtol) within which an analytical and a numerical slope agree, by dtype."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from ..runtime.arrays import Array, Mask, at_rows

T = TypeVar("T", float, NDArray[np.float64], torch.Tensor)

# ulps: what a correct backward may lose, of its own slope and of the largest visible one, by the size of the dtype in
# bytes: a long dtype can spare more of them.
_TOLERANCE_ULPS = {8: 4096.0, 4: 1024.0, 2: 8.0}
FEW_ULPS, MANY_ULPS = 8.0, 64.0  # ulps: what a result loses in a few operations, and what it loses in many
# bound: in float64 a difference of at most this share of the slope at its place is a remark: torch's trigamma is off
# by 5e-10, a constant of ten digits by as much; what was held in float32, by 6e-8, has lost half of its digits.
REMARK_SHARE = 1e-9
ALIKE_SHARE = 1e-6  # bound: to a story or a study what differs by no more than this share is one and the same
SMALL = 0.1  # bound: beside something a tenth of it is small; where an error band is not, nothing is decided
CLEARLY = 4.0  # bound: what is so many times as large as something else is clearly larger
SIMILAR = 1 / CLEARLY  # bound: what differs by no more than this share of what is contested is alike
NEGLIGIBLE = 1e-3  # bound: beside something a thousandth of it is negligible
NEARLY_ALL = 0.9  # bound: the share of what was judged that stands for all of it


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

    def at_places(self, largest_gradient: float, local_scale: Array, lost: Array | float) -> Allowed:
        """What is allowed at places where the largest slopes nearby are these shares of the largest visible."""
        share = local_scale if self.atol is None else np.ones_like(local_scale)
        return Allowed(self.tolerance(largest_gradient), share, lost=lost, remarks=self.remarks)


@dataclass(frozen=True)
class Allowed:
    """What a question allows of what backward returned, at n places or at all: rows, cells and ranges ask it.

    ``share`` is how much of ``tolerance.atol`` holds at each place. Without being wrong, a slope may be off by
    ``rounded`` as ``x`` is rounded, and what was returned by ``lost`` in a short dtype. With ``remarks`` the smallest
    differences are none.
    """

    tolerance: Tolerance
    share: Array | float = 1.0
    rounded: Array | float = 0.0
    lost: Array | float = 0.0
    remarks: bool = False

    at = at_rows

    def rounding(self, grad_output: float) -> Array | float:
        """How far what was returned may be off as numbers are rounded."""
        return abs(grad_output) * self.rounded + self.lost

    def leeway(self, expected: Array, band: Array) -> Leeway:
        """How far off the ``expected`` gradients may be, which are known to within this ``band``."""
        return Leeway(self.tolerance.margin(expected, self.share), band + self.lost)


@dataclass(frozen=True)
class Leeway:
    """How far off may be what was returned: ``margin`` is tolerated, and ``band`` is what is not known.

    What is not known excuses a difference, and confirms nothing.
    """

    margin: Array
    band: Array

    @property
    def total(self) -> Array:
        """Beyond this backward differs."""
        return self.margin + self.band

    def vague(self, returned: Array, sight: Array, nothing: Array | float) -> Mask:
        """Where too little is known to confirm what was ``returned``.

        ``sight`` is the size of the slopes there and around, ``nothing`` what counts as none.
        """
        size = np.abs(returned)
        unknown: Mask = self.band > self.margin + SMALL * sight
        # What backward returned, if it is not nothing, must stand out from the band to be confirmed by it.
        unknown |= (self.band > SMALL * size) & (size > np.maximum(self.margin, nothing))
        return unknown


USUAL = Allowance(torch.float64)  # unit: what is allowed in double precision where nothing was asked for


def tolerance_for(largest_gradient: float, dtype: torch.dtype) -> Tolerance:
    """The default tolerance of a dtype; the largest visible ``grad_input`` sets the scale of atol."""
    info, double, precision = torch.finfo(dtype), torch.finfo(torch.float64), relative_tolerance(dtype)
    # Below the smallest normal number ulps grow no smaller, and of double precision nothing is measured.
    least = max(precision * max(largest_gradient, info.tiny), double.tiny)
    return Tolerance(atol=min(least, double.max), rtol=precision)


def relative_tolerance(dtype: torch.dtype) -> float:
    """The share of a slope that a correct backward may lose in a dtype."""
    return _TOLERANCE_ULPS[dtype.itemsize] * torch.finfo(dtype).eps
