"""The area check: what forward rises by over a cell, against the area under what backward returned there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from .failure import FunctionFailed
from .grid import Rows
from .noise import Array, largest, largest_nearby, noise_along, probe_points
from .section import Returned, Section
from .tolerance import Tolerance

Mask = NDArray[np.bool_]

# Three Gauss–Legendre nodes integrate a polynomial of degree 5 exactly.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(3)
NODES, WEIGHTS = (NODES + 1) / 2, WEIGHTS / 2
# Where each point costs a call of its own, cells reach over so many rows.
EVERY = 5
# Cells that leave more than this share of what they may are refined, so that the rest does not add up.
EXACT = 0.05
# Cells that fail are halved so often; after the second time only so many of them.
HALVINGS = 7
MOST = 48
# A residual is settled when it is so many times what each of the last two halvings moved the area by.
SETTLED = 8.0
# Forward leaps in a cell if this share of the residual is risen in two neighbouring parts of it, however close one
# looks, or if it rises in few of the smallest parts, by more than this share of what it does in all.
LEAP = 0.8
PARTS = 32
CLOSER = 3
FEW = 0.25
STILL = 1e-3
# Forward's noise is so many times what a few samples show, and no more than so many last places of its largest value.
NOISE = 6.0
MOST_NOISE = 64.0


@dataclass(frozen=True)
class Area:
    """One element a cell between rows of a section, in units of ``grad_input`` times length.

    ``ends`` are the rows between which the cells lie, one more than there are cells. ``rise`` is ``grad_output``
    times what forward rises by from ``left`` to ``right``, ``area`` the quadrature of what backward returned, both in
    the section's dtype; NaN where a gap or an infinity is in the way. ``noise`` (at the ends) bounds forward's
    rounding and the doubt where a kink is, ``moved`` is what the last refinements moved the area by, NaN where none
    was needed. ``leaps``: forward jumps within the cell, and so the residual stays.
    """

    ends: NDArray[np.intp]
    left: Array
    right: Array
    rise: Array
    area: Array
    noise: Array
    moved: Array
    leaps: Mask

    @property
    def residual(self) -> Array:
        """What forward rises by and backward does not account for."""
        return self.rise - self.area


def area_check(
    section: Section,
    at: Rows,
    returned: Returned,
    values: Array,
    grad_output: float,
    tolerance: Tolerance,
    doubt: Array,
) -> Area | None:
    """The areas of all cells of ``at``; None where backward returned nothing.

    ``values`` are forward's in double precision; ``doubt`` is what a rise may be off by at each row because a kink is
    not known to the last place. Where the residual is beyond the ``tolerance`` the quadrature is refined until it has
    settled. Source: the fundamental theorem of calculus, with the nodes of C. F. Gauss (1814).
    """
    if returned.grad_input is None or at.x.size < 2 or not grad_output:
        return None
    ends = _ends(section, at)
    left, right = at.x[ends[:-1]], at.x[ends[1:]]
    rise = grad_output * np.diff(returned.values[ends])
    rise[at.gap[ends[:-1]] | at.gap[ends[1:]] | at.below[ends[:-1]] & at.above[ends[1:]]] = np.nan
    noise = (abs(grad_output) * _noise(section, at.x, values, returned.values) + doubt)[ends]
    try:
        area = _quadrature(section, left, right, grad_output)
        slack, rounding = (right - left) * tolerance.atol + tolerance.rtol * np.abs(area), noise[:-1] + noise[1:]
        allowed = slack + rounding
        area, moved = _refined(section, left, right, rise, area, rounding + EXACT * slack, grad_output)
        doubted = np.flatnonzero(np.abs(rise - area) > allowed)
        leaps = np.zeros(area.size, bool)
        leaps[doubted] = _leaps(section, left[doubted], right[doubted], ((rise - area) / grad_output)[doubted])
    except FunctionFailed:  # it accepts the rows, and not what lies between them
        return None
    return Area(ends, left, right, rise, area, noise, moved, leaps)


def _ends(section: Section, at: Rows) -> NDArray[np.intp]:
    """The rows between which there are cells: all, or where each point costs a call some, and all special ones."""
    if section.stacked:
        return np.arange(at.x.size)
    special = at.gap | at.below | at.above
    return np.flatnonzero(special | (np.arange(at.x.size) % EVERY == 0) | (np.arange(at.x.size) == at.x.size - 1))


def _quadrature(section: Section, left: Array, right: Array, grad_output: float, parts: int = 1) -> Array:
    """The integral of what backward returns over each cell, cut into so many equal parts."""
    shares = ((np.arange(parts)[:, None] + NODES) / parts).ravel()
    width = right - left
    nodes = section.snap((left[:, None] + width[:, None] * shares).ravel())
    gradient = section.backward(nodes, grad_output).grad_input
    if gradient is None:
        return np.zeros(left.size)
    mean: Array = gradient.reshape(left.size, parts, NODES.size).mean(axis=1) @ WEIGHTS
    return width * mean


def _refined(
    section: Section, left: Array, right: Array, rise: Array, area: Array, allowed: Array, grad_output: float
) -> tuple[Array, Array]:
    """The areas, refined where they leave a residual, and what the last two refinements moved them by at most."""
    area, moved, before = area.copy(), np.full(area.size, np.nan), np.full(area.size, np.nan)
    failing = np.flatnonzero(~(np.abs(rise - area) <= allowed) & ~np.isnan(rise))
    for halving in range(1, HALVINGS + 1):
        if not failing.size:
            break
        finer = _quadrature(section, left[failing], right[failing], grad_output, 2**halving)
        now = np.abs(finer - area[failing])
        moved[failing], before[failing], area[failing] = np.fmax(now, before[failing]), now, finer
        residual = np.abs(rise - area)[failing]
        open_ = (residual > allowed[failing]) & ~(residual > SETTLED * moved[failing])
        failing = failing[open_ | (halving == 1)]
        if halving > 1:
            failing = failing[np.linspace(0, failing.size - 1, min(MOST, failing.size)).astype(np.intp)]
    return area, moved


def _leaps(section: Section, left: Array, right: Array, residual: Array) -> Mask:
    """Where the residual is risen in one place, however close one looks: forward jumps there.

    Of very many cells some are witnesses, and the others follow them.
    """
    some = np.linspace(0, left.size - 1, min(MOST, left.size)).astype(np.intp)
    low, high, rest = left[some], right[some], np.abs(residual[some])
    column, alone, few = np.arange(some.size), np.ones(some.size, bool), np.zeros(some.size, bool)
    enough = np.zeros(some.size, bool)
    for _ in range(CLOSER if some.size else 0):
        edges = section.snap((low + (high - low) * np.linspace(0, 1, PARTS + 1)[:, None]).ravel())
        edges = edges.reshape(PARTS + 1, some.size)
        risen = np.abs(np.diff(section.forward(edges.ravel()).reshape(edges.shape), axis=0))
        risen[~np.isfinite(risen)] = 0.0
        total = risen.sum(axis=0)
        enough |= total > LEAP * rest
        few = (risen > STILL * total).mean(axis=0) < FEW
        pairs = risen[1:] + risen[:-1]
        at = pairs.argmax(axis=0)
        alone &= pairs[at, column] > LEAP * rest
        low, high = edges[at, column], edges[at + 2, column]
    alone |= few & enough
    leaps = np.full(left.size, bool(some.size) and bool(alone.mean() > 0.5))
    leaps[some] = alone
    return leaps


def _noise(section: Section, x: Array, values: Array, rounded: Array) -> Array:
    """How far forward's values at ``x`` may be off by rounding, in the section's dtype."""
    unit = torch.finfo(section.dtype).eps / 2
    own = unit * np.abs(values)
    if section.dtype == torch.float64:
        at, points = probe_points(x, x[-1] - x[0])
        try:
            seen = noise_along(section.forward(points), at, x.size, largest(values))
        except FunctionFailed:
            seen = np.zeros_like(x)
    else:
        seen = largest_nearby(np.nan_to_num(np.abs(rounded - values), posinf=0.0), 2)
    return np.maximum(np.minimum(NOISE * seen, MOST_NOISE * unit * largest(values)), 4 * own)
