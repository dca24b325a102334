"""The result of evaluating a section: everything that was measured of it, before any judgement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...runtime.arrays import Array
from ...runtime.batching import structure_name
from ...runtime.failure import Failure
from ...runtime.section import Section
from ..differentiation.finite_differences import PointKind
from ..formatting.numbers import slope_share
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
    ``special`` are the kinks, cusps, jumps and poles that were located. ``deterministic`` says that forward answers the
    same when asked again; with ``section.one_draw`` it does not, but was made to. ``linearity`` holds the laws that
    backward breaks, ``whole_range`` the check beyond the range. ``surrogate_nonlinear`` says that the surrogate is not
    in proportion to ``grad_output``, ``refused`` are the few points at which forward raises, and what; where it does at
    more, ``elsewhere`` is what it raises beyond the part that is looked at. ``section`` is what was asked,
    ``reference`` the same in double precision, and ``meant`` the one through the surrogate. ``returned_none`` says that
    backward returned None, and ``failure`` that it raised. Of a section of order 2 all this is said of what backward
    returned, in the place of forward, and of double backward. ``hurried`` says why a slow Function was looked at in few
    points alone.
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
    precision_loss: Array
    local_scale: Array
    returned_none: bool
    linearity: Linearity
    area: IntegralCheck | None = None
    surrogate_area: IntegralCheck | None = None
    special: tuple[SpecialPoint, ...] = ()
    deterministic: bool = True
    whole_range: WholeRangeCheck | None = None
    failure: Failure | None = None
    surrogate_nonlinear: bool = False
    refused: tuple[tuple[float, str], ...] = ()
    elsewhere: Failure | None = None
    hurried: str = ""

    @property
    def structure(self) -> str:
        """How the rows were evaluated: ``together`` or ``one by one``."""
        return structure_name(self.section.stacked)

    def area_under(self, curve: Curve) -> IntegralCheck | None:
        """The area check against this curve: the numerical one, or the surrogate's."""
        return self.area if curve is self.numerical else self.surrogate_area

    def section_of(self, curve: Curve) -> Section:
        """The section whose forward this curve is: the numerical one, or the surrogate's."""
        return self.reference if curve is self.numerical or self.meant is None else self.meant


@dataclass(frozen=True)
class Difference:
    """How far backward is ``off`` at ``x``: from the ``slope`` times grad_output, ``nearby`` the largest of those."""

    x: float
    off: float
    slope: float
    nearby: float

    @property
    def share(self) -> float | None:
        """How far as a share of the slope there, None where that is nothing."""
        return slope_share(self.off, self.slope, self.nearby)


def difference_at(evaluation: Evaluation, curve: Curve, row: int) -> Difference:
    """How far what backward returned at a row is off: at a kink from the nearer one of the slopes of both sides."""
    return Difference(*(float(each[row]) for each in differences_at_rows(evaluation, curve)))


def differences_at_rows(evaluation: Evaluation, curve: Curve) -> tuple[Array, Array, Array, Array]:
    """The members of a ``Difference`` for all rows; backward must have returned something."""
    slopes, size, returned = curve.slopes, evaluation.grad_output, evaluation.analytical
    assert returned is not None
    sides = size * np.stack((slopes.left, slopes.right))
    nearest = np.clip(returned, sides.min(axis=0), sides.max(axis=0))
    right = np.where(slopes.kind == PointKind.KINK, nearest, size * slopes.value)
    nearby = np.fmax(np.abs(right), evaluation.local_scale * evaluation.largest_gradient)
    return evaluation.rows.x, np.abs(returned - right), right, nearby
