"""The result of evaluating a section: everything that was measured of it, before any judgement."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ...runtime.arrays import Array
from ...runtime.failure import Failure
from ..linearity.laws import Linearity
from ..sampling.grid import Grid, Rows
from ..singularities.special_points import SpecialPoint
from ..whole_range.check import WholeRangeCheck
from .curve import Curve
from .integral_check import IntegralCheck


@dataclass(frozen=True)
class Evaluation:
    """What was measured of one section. All arrays have one element a row; gradients are ``grad_input``.

    ``forward`` holds the values in the chosen dtype, ``analytical`` what backward returned for ``grad_output`` (None
    where nothing is returned), ``numerical`` the forward in double precision with its slopes, not yet multiplied by
    ``grad_output``. ``in_sight`` is the largest ``grad_input`` that forward or its surrogate calls for, ``share`` how
    much of that is in sight near each row, ``lost`` what a shorter dtype has lost of what backward returns. ``area``
    and ``surrogate_area`` say what lies between the rows. ``special`` are the kinks, cusps, jumps and poles that were
    located. ``structure`` says how many rows shared a call. ``steady`` says that forward answers the same when asked
    again, ``one_draw`` that it does not, but was made to, by the same random numbers in every call. ``linearity`` holds
    the laws that backward breaks, ``wide`` what it does beyond the range. ``follows_sign`` says that the surrogate
    changes with the sign of ``grad_output``, ``surrogate_nonlinear`` that it is not in proportion to it. ``refused``
    are the few points at which forward raises, and what. ``mirror`` is the element across the diagonal that was moved
    too. ``returned_none`` says that it returned None, and ``failure`` that it raised. With ``order`` 2 all this is said
    of what backward returned, in the place of forward, and of double backward.
    """

    rows: Rows
    grid: Grid
    grad_output: float
    forward: Array
    analytical: Array | None
    numerical: Curve
    surrogate: Curve | None
    in_sight: float
    area: IntegralCheck | None
    surrogate_area: IntegralCheck | None
    lost: Array
    share: Array
    special: tuple[SpecialPoint, ...]
    structure: str
    dtype: torch.dtype
    numerical_dtype: torch.dtype
    numerical_device: str
    returned_none: bool
    follows_sign: bool
    steady: bool
    linearity: Linearity
    wide: WholeRangeCheck | None
    failure: Failure | None = None
    order: int = 1
    surrogate_nonlinear: bool = False
    refused: tuple[tuple[float, str], ...] = ()
    one_draw: bool = False
    mirror: tuple[int, ...] = ()

    def area_under(self, curve: Curve) -> IntegralCheck | None:
        """The area check against this curve: the numerical one, or the surrogate's."""
        return self.area if curve is self.numerical else self.surrogate_area
