"""Directional derivatives of all outputs: whether the partial derivatives add up to the slope along a random line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Array
from ...runtime.stacked_inputs import Indices
from ..differentiation.finite_differences import EVIDENCE_BOUNDS, PointKind, Slopes
from .cells import BasePoint, jacobian_slopes, random_direction

_Ask = Callable[[Array], Array]

# Slopes along a line are compared to this share of what they are made of.
_ALIKE = 1e-6


@dataclass(frozen=True)
class Line:
    """Outputs as a function of one number: how far an input is moved along a line through all of its elements.

    ``asked`` and ``asked_willing`` give all outputs (points × outputs) for such numbers, one a row; the first raises
    ``FunctionFailed``, and of the second those are NaN that the Function refuses.
    """

    asked: _Ask
    asked_willing: _Ask

    @property
    def here(self) -> Array:
        """Where nothing is moved."""
        return np.zeros(1)

    def forward(self, points: Array) -> Array:
        """All outputs (points × outputs). Raises ``FunctionFailed``."""
        return self.asked(points)

    def willing(self, points: Array) -> Array:
        """The same, NaN where the Function refuses a point."""
        return self.asked_willing(points)

    def moved(self, elements: Indices, t: Array, outputs: Indices) -> Array:
        """Some outputs where all is moved by each of the numbers ``t``."""
        return self.willing(t[:, None])[:, outputs]


def partials_add_up(ground: BasePoint, rows: Indices, columns: Indices, found: Slopes) -> NDArray[np.bool_]:
    """Whether the slope of each output along a random line is the sum of the partial derivatives that were ``found``.

    Where values are tied, as in a sort, an output may be flat along every element and yet move when several move: then
    it has no gradient, and no slope by one element says what backward may return. Kinks by one element are left out.
    """
    shape = rows.size, columns.size
    value, error = found.value.reshape(shape), found.error.reshape(shape)
    smooth = (found.kind.reshape(shape) == PointKind.SMOOTH).all(axis=0)
    direction = np.zeros(ground.copies.here.size)
    direction[columns[smooth]] = random_direction(columns.size, 3)[smooth]
    share, y = direction[columns], ground.y
    copies = ground.copies
    moved = Line(*(partial(_beside, ask, copies.here, direction) for ask in (copies.forward, copies.willing)))
    along = BasePoint(moved, ground.span, y, ground.noise, ground.precision)
    line = jacobian_slopes(along, rows, np.zeros(1, np.intp))
    made = np.where(smooth, value * share, 0.0)
    doubt = np.where(smooth, error * np.abs(share), 0.0).sum(axis=1) + line.error
    off = np.abs(line.value - made.sum(axis=1))
    return (line.kind == PointKind.SMOOTH) & (
        off <= EVIDENCE_BOUNDS * doubt + _ALIKE * (np.abs(made).sum(axis=1) + np.abs(line.value))
    )


def _beside(ask: _Ask, here: Array, direction: Array, points: Array) -> Array:
    return ask(here + points * direction)
