"""The integral check: over each cell, the rise of forward against the integral of what backward returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import (
    Array,
    Forward,
    Mask,
    consecutive_differences,
    evenly_chosen,
    finite_numbers,
    median,
    unit_shares,
)
from ...runtime.failure import FunctionFailed
from ...runtime.section import Section
from ..differentiation.finite_differences import EVIDENCE_BOUNDS, Slopes
from ..differentiation.noise import noise_near
from ..differentiation.quadrature import NODES, gauss_nodes, integral_at_nodes, integral_rounding, quadrature
from ..sampling.grid import FEW_POINTS, LOOKED_AT_CLOSER, Rows
from ..tolerance import NEGLIGIBLE, SIMILAR, SMALL, Tolerance, relative_tolerance

_EVERY = 5  # sample: where each point needs a call of its own, a cell spans this many rows
_SLACK_SHARE = 0.05  # bound: cells whose residual exceeds this share of the tolerance are refined: residuals add up
TRUNCATION_SHARE = 0.02  # bound: truncation, as a share of the trapezoidal rule's relative error cubed (exp: 0.0009)
# budget: at most this many doubtful cells are examined; the others get the answer of the majority.
_MAX_CELLS, _MAX_CELLS_ONE_BY_ONE = 64, 8
_PARTS = 4  # sample: where a residual sits in a cell is traced by cutting it into this many parts at each level
_LEVELS = 8  # budget: the most levels of that
_MAX_PARTS, _MAX_PARTS_ONE_BY_ONE = 256, 16  # budget: the most parts followed at a level, the worst ones
# pattern: a residual is backward's fault if no part holds more than this share of it: a jump of forward keeps it in one
# place, a wrong formula has it everywhere.
_CLUMPED = 0.6
# bound: nor may the quadrature have changed by more than this share of it under subdivision, nor the slopes of forward
# at its ends leave more of the rise unexplained.
_CHANGE = 0.125
# sample: the subdivisions that confirm it: the residual must stay the same in each.
_CUTS, _CUTS_ONE_BY_ONE = (16, 64, 250), (16,)
_MAX_TOGETHER = 5000  # budget: the parts of all subdivisions that are looked at in one go
# sample: a cell is cut into so many parts, and the one with the largest residual again, on so many scales in turn.
_STAIR_PARTS, _STAIR_SCALES = 32, 3
# pattern: in a cell backward leaps if a node is so many times as far off the others as (a sample) in the cells nearby.
_LEAP, _NEAR = 16.0, 8


@dataclass(frozen=True)
class IntegralCheck:
    """One element a cell between rows of a section, in units of ``grad_input`` times length.

    ``ends`` are the rows between which the cells lie, one more than there are cells. ``rise`` is ``grad_output``
    times what forward rises by from ``left`` to ``right``, ``area`` the quadrature of what backward returned, ``size``
    that of its absolute value; NaN where a gap or an infinity is in the way. ``noise`` (at the ends) bounds forward's
    rounding, ``unsure`` what is not accounted for because a kink is not known to the last place, backward rounds or the
    quadrature is not refined any further. ``leaps``: however close one looks, the residual sits in one place, where
    forward jumps or bends, and nothing is known of the rest.
    """

    ends: NDArray[np.intp]
    left: Array
    right: Array
    rise: Array
    area: Array
    size: Array
    noise: Array
    unsure: Array
    leaps: Mask

    @property
    def residual(self) -> Array:
        """The rise of forward minus the integral of what backward returned."""
        return self.rise - self.area


@dataclass(frozen=True)
class Antiderivative:
    """The function that backward should be the gradient of: a forward, its ``values`` at the rows, their error bound.

    ``slopes`` are its measured ones, ``gradient`` what backward returned there; ``precise`` is forward in double
    precision, where it can be had. It is not ``meant`` where a surrogate is, by which backward is judged.
    """

    forward: Forward
    values: Array
    slopes: Slopes
    noise: Array
    gradient: Array
    precise: Forward
    meant: bool = True


@dataclass(frozen=True)
class _Cells:
    """The cells of a section before they are examined closer."""

    section: Section
    forward: Forward
    precise: Forward
    grad_output: float
    left: Array
    right: Array
    rise: Array
    area: Array
    rounding: Array
    meant: bool


def check_integrals(
    section: Section,
    at: Rows,
    target: Antiderivative,
    grad_output: float,
    tolerance: Tolerance,
    share: Array,
    doubt: Array,
    areas: CellAreas | None,
) -> IntegralCheck | None:
    """The check of all cells of ``at`` against their ``areas`` from ``cell_areas``; None where that is None.

    ``target`` is what backward should be the gradient of; ``share`` is how much of ``tolerance.atol`` holds at each
    row, ``doubt`` what a rise may be off by there because a kink is not known to the last place. Where the
    residual is beyond the ``tolerance`` the quadrature is refined.
    Source: the fundamental theorem of calculus, with the nodes of C. F. Gauss (1814).
    """
    if areas is None:
        return None
    area, whole = areas.signed, areas.absolute
    ends = _cell_ends(section, at)
    left, right = at.x[ends[:-1]], at.x[ends[1:]]
    rise = grad_output * consecutive_differences(target.values[ends])
    rise[at.gap[ends[:-1]] | at.gap[ends[1:]] | at.below[ends[:-1]] & at.above[ends[1:]]] = np.nan
    noise = abs(grad_output) * target.noise[ends]
    unsure = doubt[ends[:-1]] + doubt[ends[1:]]
    try:
        atol = tolerance.atol * np.maximum(share[ends[:-1]], share[ends[1:]])
        slack = (right - left) * atol + tolerance.rtol * whole
        rounding = noise[:-1] + noise[1:] + unsure
        off, plain = np.abs(rise - area), np.zeros(area.size, bool)
        if (doubtful := np.flatnonzero(off > _SLACK_SHARE * slack)).size:
            gradient = target.gradient[ends]
            truncation = _truncation(*(each[doubtful] for each in (area, right - left, gradient[:-1], gradient[1:])))
            truncated = truncation > _SLACK_SHARE * slack[doubtful]
            doubtful = doubtful[truncated | (off > SIMILAR * rounding)[doubtful]]
            plain = off > slack + EVIDENCE_BOUNDS * rounding
            if plain[doubtful].any():
                plain &= _off_everywhere(target, ends, areas, rise, right - left, grad_output)
        cells = _Cells(
            section, target.forward, target.precise, grad_output, left, right, rise, area, rounding, target.meant
        )
        area, leaps, hidden = _refine_doubtful(cells, doubtful, plain, slack)
    except FunctionFailed:  # it accepts the nodes, and not what lies between them
        return None
    # Of the slack so much is the quadrature's own.
    unsure += hidden + _SLACK_SHARE * slack
    return IntegralCheck(ends, left, right, rise, area, whole, noise, unsure, leaps)


@dataclass(frozen=True)
class CellAreas:
    """What backward returned ``inside`` cells, at three Gauss nodes each, and the areas under that and its size."""

    inside: Array
    signed: Array
    absolute: Array


def cell_areas(section: Section, at: Rows, grad_output: float, inside: Array | None) -> CellAreas | None:
    """The areas of all cells of ``at`` under what the section's backward returns.

    None where it returns nothing. ``inside`` is what it returned at the Gauss nodes of all cells, if that is known.
    """
    if at.x.size < 2 or not grad_output:
        return None
    ends = _cell_ends(section, at)
    left, right = at.x[ends[:-1]], at.x[ends[1:]]
    if inside is None:
        try:
            inside = section.gradient(gauss_nodes(section, left, right), grad_output).reshape(-1, NODES.size)
        except FunctionFailed:  # it accepts the rows, and not what lies between them
            return None
    return CellAreas(inside, *(integral_at_nodes(each, left, right) for each in (inside, np.abs(inside))))


def _off_everywhere(
    target: Antiderivative, ends: NDArray[np.intp], areas: CellAreas, rise: Array, width: Array, grad_output: float
) -> Mask:
    """The cells in which forward rises as its slopes at both ends say, and backward is off those everywhere.

    That is by at least half of what the residual is on average. No jump of forward can hold it, nor is the quadrature
    at fault.
    """
    slopes, residual = target.slopes, rise - areas.signed
    first, last = grad_output * slopes.right[ends[:-1]], grad_output * slopes.left[ends[1:]]
    unsure = abs(grad_output) * (slopes.right_error[ends[:-1]] + slopes.left_error[ends[1:]])
    unexplained = np.abs(rise - width * (first + last) / 2) + width * unsure
    shares = np.concatenate(([0.0], NODES, [1.0]))[:, None]
    returned = np.stack((target.gradient[ends[:-1]], *areas.inside.T, target.gradient[ends[1:]]))
    off = (first + (last - first) * shares - returned) * width / residual
    everywhere: Mask = (off >= 0.5).all(axis=0) & (unexplained <= _CHANGE * np.abs(residual))
    return everywhere


def leaping_nodes(section: Section, at: Rows, gradient: Array, inside: Array) -> Array:
    """The Gauss nodes of the few cells between rows ``at`` in which what backward returns leaps as nowhere near.

    There it may be wrong between two rows. ``gradient`` is what it returned at the rows, ``inside`` at the nodes.
    """
    ends, nodes = np.array((gradient[:-1], gradient[1:])), np.ascontiguousarray(inside.T)
    size = np.maximum(np.abs(ends).max(axis=0), np.abs(nodes).max(axis=0))
    # Where an end alone is off backward leaps at a row, and the parabola that leaves it out passes through the nodes.
    off = _off_parabolas(ends, nodes)
    unlike = _unlike_nearby(off, size * relative_tolerance(section.dtype))
    off, leaps = off.min(axis=0), np.flatnonzero(unlike & ~at.gap[1:] & ~at.gap[:-1])
    leaps = leaps[np.argsort(-off[leaps], kind="stable")[:LOOKED_AT_CLOSER]]
    return np.unique(gauss_nodes(section, at.x[leaps], at.x[leaps + 1])) if leaps.size else np.empty(0)


def _off_parabolas(ends: Array, nodes: Array) -> Array:
    """How far the middle one of three Gauss nodes of each cell is off the parabolas through the others and an end.

    ``ends`` and what is returned are (2 × cells), ``nodes`` (3 × cells).
    """
    share, outer = 2 * NODES[-1] - 1, nodes[::2]
    with np.errstate(all="ignore"):
        beside = (outer / (1 - share) + outer[::-1] / (1 + share)) / 2
        return np.abs(nodes[1] - beside + ends * share**2 / (1 - share**2))


def _unlike_nearby(off: Array, negligible: Array) -> Mask:
    """Whether each row of ``off`` (rows × cells) is much larger in a cell than in those nearby, and not negligible."""
    off, count = finite_numbers(off, infinity=0.0), off.shape[1]
    if count == 1:
        return np.zeros(1, bool)
    near = min(_NEAR, count - 1)
    padded, next_to = np.concatenate((off[:, near:0:-1], off, off[:, -2 : -near - 2 : -1]), axis=1), (near + 1) // 2
    # More than half of the cells nearby are no more than their median, and so is one of the next ones.
    least, width = padded, 1
    while width < next_to:
        shift = min(width, next_to - width)
        least, width = np.minimum(least[:, :-shift], least[:, shift:]), width + shift
    least = np.minimum(least[:, near - next_to :][:, :count], least[:, near + 1 :][:, :count])
    leaps: Mask = np.logical_and.reduce((off > _LEAP * least) & (off > negligible))
    some = np.flatnonzero(leaps)
    if some.size:
        around = padded[:, some[:, None] + np.arange(2 * near + 1)]
        leaps[some] = (off[:, some] > _LEAP * median(around)).all(axis=0)
    return leaps


def _cell_ends(section: Section, at: Rows) -> NDArray[np.intp]:
    """The rows between which there are cells: all, or where each point costs a call some, and all special ones."""
    if section.stacked:
        return np.arange(at.x.size)
    rows = np.arange(at.x.size)
    ends = at.gap | at.below | at.above | (rows % _EVERY == 0) | (rows == at.x.size - 1)
    return np.flatnonzero(ends)


def _truncation(area: Array, width: Array, before: Array, after: Array) -> Array:
    """The truncation error of three Gauss nodes in each cell, extrapolated from the error of the trapezoidal rule."""
    share = np.abs(width * (before + after) / 2 - area) / np.abs(area)
    return TRUNCATION_SHARE * finite_numbers(share**3 * np.abs(area), infinity=0.0)


def _refine_doubtful(cells: _Cells, doubtful: NDArray[np.intp], plain: Mask, slack: Array) -> tuple[Array, Mask, Array]:
    """The areas, refined where they leave a residual, whether that is still none of backward's, and its rounding.

    Where it is ``plain`` that it is backward's, nothing is refined.
    """
    area, leaps, hidden = cells.area.copy(), np.zeros(cells.area.size, bool), np.zeros(cells.area.size)
    if (vague := doubtful[~plain[doubtful]]).size:
        _refine(cells, vague, area, slack)
    allowed = slack + cells.rounding
    doubtful = doubtful[np.abs(cells.rise - area)[doubtful] > allowed[doubtful]]
    limit = _MAX_CELLS if cells.section.stacked else _MAX_CELLS_ONE_BY_ONE
    limit = min(limit, FEW_POINTS) if doubtful.size > _MAX_CELLS and not cells.meant else limit
    chosen = evenly_chosen(doubtful, limit)
    some = chosen[~plain[chosen]]
    if not some.size:
        return area, leaps, hidden
    area[some] = cells.area[some]
    wrong = _trace_residual(cells, some, area, allowed)
    still = np.abs(cells.rise - area)[some] > allowed[some]
    left, right = cells.left[some], cells.right[some]
    hidden[some] = integral_rounding(cells.section, cells.forward, left, right, cells.grad_output)
    # What most of the examined turned out not to be, the others are not either.
    fault = still & wrong & (np.abs(cells.rise - area)[some] > allowed[some] + hidden[some])
    leaps[doubtful] = np.count_nonzero(fault) + chosen.size - some.size < chosen.size / 2
    leaps[chosen] = False
    leaps[some] = still & ~wrong
    return area, leaps, hidden


def _refine(cells: _Cells, some: NDArray[np.intp], area: Array, slack: Array) -> None:
    """Cut cells into ever more parts, as long as their residual falls as only the quadrature's own error does."""
    for count in (_PARTS, _PARTS**2, _PARTS**3)[: 3 if cells.section.stacked else 2]:
        edges = cells.left[some] + (cells.right - cells.left)[some] * unit_shares(count)
        edges = cells.section.snap(edges)
        finer = quadrature(cells.section, edges[:-1], edges[1:], cells.grad_output).sum(axis=0)
        before, after = np.abs(cells.rise - area)[some], np.abs(cells.rise[some] - finer)
        area[some] = finer
        some = some[(after < SMALL * before) & (after > _SLACK_SHARE * slack[some])]
        if not some.size:
            break


def _trace_residual(cells: _Cells, some: NDArray[np.intp], area: Array, allowed: Array) -> Mask:
    """Refine the ``area`` of some cells where their residual sits; whether it is spread over a part of the cell.

    A curve too bent for three nodes and a kink lose their residual on the way, a wrong formula has it everywhere in
    its part, and a jump of forward keeps it in one place.
    """
    scale, section = cells.grad_output, cells.section
    owner, low, high, known = some, cells.left[some], cells.right[some], cells.area[some]
    fault, limit = np.zeros(cells.area.size), _MAX_PARTS if section.stacked else _MAX_PARTS_ONE_BY_ONE
    for _ in range(_LEVELS):
        edges = section.snap(low + (high - low) * unit_shares(_PARTS))
        parts = quadrature(section, edges[:-1], edges[1:], scale)
        rises = scale * consecutive_differences(cells.forward(edges.ravel()).reshape(edges.shape))
        np.add.at(area, owner, parts.sum(axis=0) - known)
        residual = finite_numbers(np.abs(rises - parts), np.inf)
        total, shift = residual.sum(axis=0), np.abs(parts.sum(axis=0) - known)
        spread = (
            (residual.max(axis=0) <= _CLUMPED * total) & (shift <= _CHANGE * total) & (total > cells.rounding[owner])
        )
        net = (rises - parts).sum(axis=0)
        spread &= np.abs(net) >= total / 2
        if spread.any():
            ends, off = (edges[0, spread], edges[-1, spread]), net[spread]
            loud = np.abs(off) > _rounding_at(cells, *ends)
            if cells.meant:  # else nobody is accused of what is left of a quadrature
                loud &= _is_stable(cells, *ends, rises.sum(axis=0)[spread], off)
            spread[spread] = loud
        np.add.at(fault, owner[spread], np.abs(net)[spread])
        left = residual > cells.rounding[owner] + _SLACK_SHARE * allowed[owner]
        child, part = np.nonzero(left & ~spread)
        if not part.size:
            break
        if part.size > limit:
            largest_first = np.argsort(-residual[child, part], kind="stable")[:limit]
            child, part = child[largest_first], part[largest_first]
        owner, low, high, known = owner[part], edges[child, part], edges[child + 1, part], parts[child, part]
    wrong = fault[some] > allowed[some]
    if wrong.any():
        wrong[wrong] = ~_is_staircase(cells, some[wrong])
    return wrong


def _is_stable(cells: _Cells, low: Array, high: Array, rise: Array, residual: Array) -> Mask:
    """Whether the residual stays the same under finer quadrature, and so is not an error of the quadrature."""
    stays, cuts = np.ones(low.size, bool), _CUTS if cells.section.stacked else _CUTS_ONE_BY_ONE
    together = low.size * sum(cuts) <= _MAX_TOGETHER
    for some in (cuts,) if together else ((count,) for count in cuts):
        rows = np.flatnonzero(stays)
        if not rows.size:
            break
        shares = np.concatenate([unit_shares(count) for count in some])
        edges = low[rows] + (high - low)[rows] * shares
        edges = cells.section.snap(edges)
        cells_of = np.flatnonzero(shares[1:, 0] > shares[:-1, 0])
        parts = quadrature(cells.section, edges[cells_of], edges[cells_of + 1], cells.grad_output)
        finer = np.add.reduceat(parts, np.cumsum((0, *some[:-1])), axis=0)
        stays[rows] = (np.abs(rise[rows] - finer - residual[rows]) <= _CHANGE * np.abs(residual[rows])).all(axis=0)
    return stays


def _rounding_at(cells: _Cells, low: Array, high: Array) -> Array:
    """How far a rise may be off by the rounding of forward at the two ends."""
    span = float(cells.right[-1] - cells.left[0])
    try:
        noise = noise_near(cells.forward, np.concatenate((low, high)), span).reshape(2, -1).sum(axis=0)
    except FunctionFailed:  # it rejects what lies beyond the range
        return np.zeros(low.size)
    return abs(cells.grad_output) * EVIDENCE_BOUNDS * noise


def _is_staircase(cells: _Cells, some: NDArray[np.intp]) -> Mask:
    """Where forward is a staircase with many steps to a cell: seen close enough (in double) it rises in few places."""
    low, high = cells.left[some], cells.right[some]
    column = np.arange(low.size)
    for _ in range(_STAIR_SCALES):
        edges = low + (high - low) * unit_shares(_STAIR_PARTS)
        rises = cells.grad_output * consecutive_differences(cells.precise(edges.ravel()).reshape(edges.shape))
        left = finite_numbers(np.abs(rises - quadrature(cells.section, edges[:-1], edges[1:], cells.grad_output)))
        at = left.argmax(axis=0)
        low, high = edges[at, column], edges[at + 1, column]
    concentrated: Mask = (left > NEGLIGIBLE * left.sum(axis=0)).mean(axis=0) < SIMILAR
    return concentrated
