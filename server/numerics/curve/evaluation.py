"""The result of evaluating a section: everything that was measured of it, before any judgement."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ...runtime.arrays import Array
from ...runtime.batching import structure_name
from ...runtime.failure import Failure
from ...runtime.section import Section
from ...runtime.vjp import CopyAxis
from ..linearity.laws import Linearity
from ..sampling.grid import Grid, Rows
from ..singularities.special_points import SpecialPoint
from ..whole_range.check import WholeRangeCheck
from .curve import Curve
from .integral_check import IntegralCheck


@dataclass(frozen=True)
class Evaluation:
    """What was measured of one section. All arrays have one element a row; gradients are ``grad_input``.

    ``forward`` holds the values in the chosen dtype, ``analytical`` what backward returned for ``grad_output``
    (None where nothing is returned), ``numerical`` the forward in double precision with its slopes, not yet
    multiplied by ``grad_output``. ``largest_gradient`` is the largest ``grad_input`` that forward or its surrogate
    calls for, ``local_scale`` the largest near each row as a share of it, ``precision_loss`` how far a shorter
    dtype is off in what backward returns. ``area`` and ``surrogate_area`` are the checks between the rows.
    ``special`` are the kinks, cusps, jumps and poles that were located. ``stacked`` and ``copies_along`` say how
    rows shared calls. ``deterministic`` says that forward answers the same when asked again, ``one_draw`` that it
    does not, but was made to, by the same random numbers in every call. ``linearity`` holds the laws that backward
    breaks, ``whole_range`` the check beyond the range. ``follows_sign`` says that the surrogate changes with the
    sign of ``grad_output``, ``surrogate_nonlinear`` that it is not in proportion to it. ``refused`` are the few
    points at which forward raises, and what. ``mirror`` is the element across the diagonal that was moved too.
    ``section`` is what was asked, ``reference`` the same in double precision, and ``meant`` the one through the
    surrogate. ``returned_none`` says that backward returned None, and ``failure`` that it raised. With ``order`` 2 all
    this is said of what backward returned, in the place of forward, and of double backward.
    """

    section: Section
    reference: Section
    meant: Section | None
    rows: Rows
    grid: Grid
    grad_output: float
    forward: Array
    analytical: Array | None
    numerical: Curve
    surrogate: Curve | None
    largest_gradient: float
    area: IntegralCheck | None
    surrogate_area: IntegralCheck | None
    precision_loss: Array
    local_scale: Array
    special: tuple[SpecialPoint, ...]
    stacked: tuple[str, ...]
    copies_along: tuple[CopyAxis, CopyAxis]
    dtype: torch.dtype
    numerical_dtype: torch.dtype
    numerical_device: str
    returned_none: bool
    follows_sign: bool
    deterministic: bool
    linearity: Linearity
    whole_range: WholeRangeCheck | None
    failure: Failure | None = None
    order: int = 1
    surrogate_nonlinear: bool = False
    refused: tuple[tuple[float, str], ...] = ()
    one_draw: bool = False
    mirror: tuple[int, ...] = ()

    @property
    def structure(self) -> str:
        """How the rows were evaluated: ``together`` or ``one by one``."""
        return structure_name(self.stacked)

    def area_under(self, curve: Curve) -> IntegralCheck | None:
        """The area check against this curve: the numerical one, or the surrogate's."""
        return self.area if curve is self.numerical else self.surrogate_area

    def section_of(self, curve: Curve) -> Section:
        """The section whose forward this curve is: the numerical one, or the surrogate's."""
        return self.reference if curve is self.numerical or self.meant is None else self.meant
