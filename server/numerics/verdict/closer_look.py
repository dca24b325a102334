"""A closer look at the rows and cells that seem to differ or are in doubt, before backward is accused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from ...runtime.arrays import (
    EPSILON,
    Array,
    Forward,
    Mask,
    consecutive_differences,
    evenly_chosen,
    finite_numbers,
    largest_magnitude,
    median,
    two_around,
    unit_shares,
)
from ..curve.curve import Curve, nan_outside_domain, pieces_of, scatter_along
from ..curve.evaluate import is_another
from ..curve.evaluation import Evaluation, differences_at_rows
from ..curve.integral_check import IntegralCheck
from ..differentiation.confirmation import CLEAR, Closeness, Dispute, confirmed, slopes_seen_closely
from ..differentiation.fine_structure import contradicted, returned_for, wavers
from ..differentiation.finite_differences import EVIDENCE_BOUNDS
from ..differentiation.noise import moving_maximum
from ..differentiation.quadrature import quadrature
from ..differentiation.scatter import most_explained
from ..sampling.grid import LOOKED_AT_CLOSER
from ..status import Status
from ..tolerance import ALIKE_SHARE, NEGLIGIBLE, SIMILAR, Allowed
from .cell_judge import off_by_a_factor
from .slope_judge import Statuses

# budget: at most so many of the rows that differ are looked at closer, fewer where each point costs a call of its own;
# the others follow the nearest of them. And of a cell so many parts, the worst of which is divided again so often.
_MOST_CELLS, _MOST_CONFIRMED_ALONE, _PARTS, _PARTS_ALONE, _LEVELS = 150, 3, 16, 4, 3
# pattern: a cell differs inside if so many of its parts do, and what is in doubt if a quarter of them does.
_MIN_PARTS, _MIN_PARTS_IN_DOUBT = 2, 4
_CUT = 256  # sample: a factor stays the same where cells are cut into so many parts, more than any was before
_NEARBY = 25  # sample: among so many rows on either side it is seen how far rounding moves x
_AROUND = 8  # sample: so many points or rows around a row in doubt are looked at


def look_closely(evaluation: Evaluation, curve: Curve, status: Statuses, cells: Statuses, allowed: Allowed) -> None:
    """Decide at the smallest scale on which forward is straight: what seems to differ, and what is undecided."""
    assert evaluation.analytical is not None
    rows = (status == Status.DIFFERS) | (status == Status.UNDECIDED)
    if not (rows.any() or ((cells != Status.AGREES) & (cells != Status.GAP)).any()):
        return
    rtol, least = allowed.tolerance.rtol, np.empty(status.size)
    least[:] = allowed.tolerance.atol * allowed.share + allowed.rounding(evaluation.grad_output)
    area, explained = evaluation.area_under(curve), least + rtol * np.abs(evaluation.analytical)
    if area is not None:
        explained[area.ends] += CLEAR * area.noise / curve.slopes.step
    seen = status == Status.DIFFERS
    _look_at_rows(evaluation, curve, status, explained)
    if area is None or not cells.size:
        return
    believed = np.zeros(cells.size, bool)
    if evaluation.section.dtype == torch.float64:
        believed = off_by_a_factor(area, cells, allowed, evaluation.grad_output)
        if believed.any():
            believed &= _areas_stay(evaluation, area, cells)
    beside = area.ends[np.append(believed, False) | np.append(False, believed)]
    status[beside[seen[beside]]] = Status.DIFFERS
    wrong, ends = (status == Status.DIFFERS)[area.ends], least[area.ends]
    slack = np.maximum(ends[1:], ends[:-1])
    doubtful = np.isin(cells, (Status.UNDECIDED, Status.JUMP)) & (not curve.unseen)
    differing = (cells == Status.DIFFERS) & ~(wrong[1:] | wrong[:-1] | believed)
    _excuse_jumps(evaluation, curve, area, cells, np.flatnonzero(differing))
    differing &= cells == Status.DIFFERS
    for asked, levels, parts in ((differing, _LEVELS, _MIN_PARTS), (doubtful, 1, _MIN_PARTS_IN_DOUBT)):
        rows = np.flatnonzero(asked)
        some = _some_of(rows, evaluation, _MOST_CELLS)
        low, high = area.left[some], area.right[some]
        # What differs in a cell as a whole may hide in it; in doubt, a part must differ by more than forward's noise.
        noise = (area.noise[some] + area.noise[some + 1]) if asked is doubtful else np.zeros(some.size)
        holds = _differs_inside(evaluation, curve, (low, high), slack[some], noise, rtol, levels, parts)
        if asked is doubtful:
            cells[some[holds]] = Status.DIFFERS
        elif rows.size:
            cells[rows[~for_all(rows, some, holds)]] = Status.UNDECIDED


def _areas_stay(evaluation: Evaluation, area: IntegralCheck, cells: Statuses) -> bool:
    """Whether a factor that cells are off by is none of the quadrature, as of a wave that is faster than they are."""
    judged, section = np.flatnonzero((cells != Status.GAP) & (cells != Status.JUMP)), evaluation.section
    some = _some_of(judged, evaluation)
    edges = area.left[some] + (area.right - area.left)[some] * unit_shares(_CUT if section.stacked else _PARTS)
    finer = quadrature(section, edges[:-1], edges[1:], evaluation.grad_output).sum(axis=0)
    accounted, off, seen = area.area[judged], area.residual[judged], area.area[some]
    shift, found = seen @ (finer - seen) / (seen @ seen), accounted @ off / (accounted @ accounted)
    return bool(abs(shift) <= SIMILAR * abs(found))


def _excuse_jumps(
    evaluation: Evaluation, curve: Curve, area: IntegralCheck, cells: Statuses, differing: NDArray[np.intp]
) -> None:
    """Leave cells undecided that are off by no more than forward's small jumps, as of a solver that stops, explain.

    They explain no factor by which nearly all are off, which is believed, and nothing where one cell is off by more.
    """
    if not differing.size or curve.slopes.precision != EPSILON:  # what rounds jumps everywhere, which is known already
        return
    width, scale = area.right - area.left, abs(evaluation.grad_output)
    slope, off, middle = area.rise / width / scale, np.abs(area.residual) / width / scale, area.left + width / 2
    if not (off <= most_explained(slope))[differing].all():
        return
    # Over a cell counts what such jumps come to on a way of its length: in less they are rounding.
    scatter = scatter_along(evaluation.section_of(curve), middle, slope, off, differing, float(median(width)) / 2)
    if curve is evaluation.numerical and evaluation.analytical is not None:
        at, returned, special = evaluation.rows.x, evaluation.analytical, evaluation.special
        pieces = pieces_of(curve, at, returned, evaluation.grad_output, special)
        scatter = np.maximum(scatter, pieces.known(middle))
        scatter[pieces.begin_in(area.left, area.right)] = np.inf
    cells[differing[off[differing] <= EVIDENCE_BOUNDS * scatter[differing]]] = Status.UNDECIDED


def _look_at_rows(evaluation: Evaluation, curve: Curve, status: Statuses, explained: Array) -> None:
    """``explained`` is how far a row in doubt may be off by rounding, and over the widest step by forward's noise."""
    returned, closeness = evaluation.analytical, _closenesses(evaluation, curve)[0]
    assert returned is not None
    doubtful = np.flatnonzero((status == Status.UNDECIDED) & np.isfinite(returned))
    _look_at_differing_rows(evaluation, curve, closeness, status)
    if not doubtful.size:
        return
    x, some = evaluation.rows.x, _some_of(doubtful, evaluation)
    some = some[_differs_in_doubt(evaluation, closeness, x[some], explained[some])[0]]
    if not some.size:
        return
    # What is in doubt is not accused because of a step of forward: it differs at most of the points around, too, which
    # are those that are nearer to it than to another row.
    middle = (x[1:] + x[:-1]) / 2
    before, after = np.append(x[0], middle)[some], np.append(middle, x[-1])[some]
    around = before + (after - before) * ((np.arange(1.0, _AROUND + 1) / 1.618) % 1)[:, None]
    around = evaluation.section.snap(around.ravel())
    judged = _differs_in_doubt(evaluation, closeness, around, np.tile(explained[some], _AROUND))
    differs, seen = np.stack(judged).reshape(2, _AROUND, -1).sum(axis=1)
    status[some[differs > seen / 2]] = Status.DIFFERS


def _look_at_differing_rows(evaluation: Evaluation, curve: Curve, closeness: Closeness, status: Statuses) -> None:
    if not (status == Status.DIFFERS).any():
        return
    x, off, right, _ = differences_at_rows(evaluation, curve)
    returned, scale = evaluation.analytical, evaluation.grad_output
    assert returned is not None
    disputed = np.flatnonzero((status == Status.DIFFERS) & (off > 0) & np.isfinite(off))
    if not disputed.size:
        return
    some = np.union1d(_some_of(disputed, evaluation), disputed[off[disputed].argmax()])
    dispute = Dispute(x[some], returned[some] / scale, off[some] / abs(scale))
    answer = confirmed(closeness, dispute)
    # Where forward is straight on no scale, differences may still converge: to what is off alike at row after row.
    size = np.maximum(np.abs(returned[some]), np.abs(right[some]))
    signed = np.where(status == Status.DIFFERS, returned - right, np.nan)
    alike = _is_alike_on_a_side(signed, some) | _is_alike_on_a_side(signed / returned, some)
    small = (off[some] <= ALIKE_SHARE * size) & alike & ~answer.follows
    contradicts, plainly = answer.contradicts | small | answer.hidden, answer.plainly | answer.hidden
    answer = replace(answer, contradicts=contradicts, plainly=plainly)
    holds = contradicted(closeness, evaluation.section, evaluation.grad_output, dispute, answer)
    status[disputed[~for_all(disputed, some, holds)]] = Status.UNDECIDED


def _is_alike_on_a_side(values: Array, rows: NDArray[np.intp]) -> Mask:
    """Whether the values at the next rows, on one side of each of these, are nearly the same."""
    alike = np.zeros(rows.size, bool)
    for side in (-1, 1):
        others = rows + side * np.arange(1, _AROUND // 2 + 1)[:, None]
        inside = (others >= 0) & (others < values.size)
        near = np.where(inside, values[others % values.size], np.nan)
        alike |= (np.abs(near - values[rows]) <= SIMILAR * np.abs(values[rows])).all(axis=0)
    return alike


def _differs_in_doubt(evaluation: Evaluation, closeness: Closeness, x: Array, explained: Array) -> tuple[Mask, Mask]:
    """Whether backward is off by more than is ``explained`` from a slope that is seen closely; and if one is seen."""
    returned, differs = returned_for(evaluation.section, evaluation.grad_output)(x), np.zeros(x.size, bool)
    slope = slopes_seen_closely(closeness, x, returned)
    distance: Array = np.where(slope == 0, np.nan, np.abs(returned - slope))  # a step is flat
    far = distance > np.maximum(2 * NEGLIGIBLE * np.abs(returned), explained / abs(evaluation.grad_output))
    dispute = Dispute(x[far], returned[far], distance[far])
    differs[far] = contradicted(
        closeness, evaluation.section, evaluation.grad_output, dispute, confirmed(closeness, dispute)
    )
    return differs, np.isfinite(distance)


def _differs_inside(
    evaluation: Evaluation,
    curve: Curve,
    cells: tuple[Array, Array],
    allowed: Array,
    noise: Array,
    rtol: float,
    levels: int,
    parts: int,
) -> Mask:
    """Which cells have ``parts`` in which backward differs by more than is allowed; the worst part is divided.

    Over a part of a cell it differs by more than the ``noise`` there, too.
    """
    low, high = (ends.copy() for ends in cells)
    holds = np.zeros(low.size, bool)
    for _ in range(levels if evaluation.section.stacked else 1):
        left = np.flatnonzero(~holds)
        if not left.size:
            break
        sides = low[left], high[left]
        edges, off, against = _disputed_parts(evaluation, curve, sides, allowed[left], noise[left], rtol)
        holds[left] = against.sum(axis=0) >= parts
        worst, column = np.nan_to_num(off).argmax(axis=0), np.arange(left.size)
        low[left], high[left] = edges[worst, column], edges[worst + 1, column]
    return holds


def _disputed_parts(
    evaluation: Evaluation, curve: Curve, cells: tuple[Array, Array], allowed: Array, noise: Array, rtol: float
) -> tuple[Array, Array, Mask]:
    """The edges of the parts of each cell, how far backward is off in their middles, and whether that is confirmed."""
    section, scale, (low, high) = evaluation.section, evaluation.grad_output, cells
    parts = _PARTS if section.stacked else _PARTS_ALONE
    edges = section.snap(low + (high - low) * unit_shares(parts))
    middle = section.snap(((edges[1:] + edges[:-1]) / 2).ravel())
    returned = section.gradient(middle, scale).reshape(edges[1:].shape)
    worst, against, column = np.zeros(returned.shape), np.zeros(returned.shape, bool), np.arange(low.size)
    for closeness in _closenesses(evaluation, curve):
        rises = consecutive_differences(closeness.forward(edges.ravel()).reshape(edges.shape))
        widths = edges[1:] - edges[:-1]
        off = np.abs(returned / scale - rises / widths)
        asked = off * abs(scale) > allowed + rtol * np.abs(returned) + noise / widths
        dispute = Dispute(middle.reshape(asked.shape)[asked], returned[asked] / scale, off[asked])
        holds = confirmed(closeness, dispute).contradicts
        against[asked] |= holds
        if holds.any():
            against[asked] &= ~wavers(returned_for(evaluation.section, evaluation.grad_output), dispute, closeness.eps)
            one = np.where(against, off, -1.0).argmax(axis=0)
            one, some = one[against[one, column]], column[against[one, column]]
            dispute = Dispute(*(each[one, some] for each in (middle.reshape(off.shape), returned / scale, off)))
            explained = ~contradicted(
                closeness, evaluation.section, evaluation.grad_output, dispute, confirmed(closeness, dispute)
            )
            against[:, some[explained]] = False
        worst = np.fmax(worst, off)
    return edges, worst, against


def _some_of(disputed: NDArray[np.intp], evaluation: Evaluation, most: int = LOOKED_AT_CLOSER) -> NDArray[np.intp]:
    """As many of these as there is time to look at closer."""
    most = most if evaluation.section.stacked else _MOST_CONFIRMED_ALONE
    return evenly_chosen(disputed, most)


def for_all(places: NDArray[np.intp], some: NDArray[np.intp], holds: Mask) -> Mask:
    """Whether it holds at each of the places: as it does at ``some``, elsewhere if it does at one of the two around."""
    after, before = two_around(some, places)
    around: Mask = holds[after] | holds[before]
    return around


def _closenesses(evaluation: Evaluation, curve: Curve) -> tuple[Closeness, ...]:
    """How closely a curve can be looked at: in double precision, and where that is another one in the dtype's own."""
    section, eps = evaluation.section, torch.finfo(evaluation.section.dtype).eps
    height, reach = largest_magnitude(curve.values), largest_magnitude(evaluation.rows.x)
    forward, slopes = nan_outside_domain(evaluation.section_of(curve), evaluation.rows.x), curve.slopes
    precise = Closeness(forward, slopes.step, slopes.precision, eps, height, reach)
    if evaluation.section.dtype == evaluation.reference.dtype or curve is not evaluation.numerical:
        return (precise,)
    if not is_another(curve.values, evaluation.forward):
        return (replace(precise, moved=_moved_by_rounding(evaluation, curve, eps)),)
    own = nan_outside_domain(section, evaluation.rows.x)
    return precise, Closeness(own, slopes.step, eps / 2, eps, height, reach, section.snap)


def _moved_by_rounding(evaluation: Evaluation, curve: Curve, eps: float) -> Forward:
    """How far away, around each x, forward is what a short dtype makes of it, as it rounds on its way.

    Where it is flat that cannot be seen: it is seen nearby, where it is at least half as steep as it gets.
    """
    rows, values = evaluation.rows, curve.values
    off = finite_numbers(np.abs(evaluation.forward - values) - eps * np.abs(values), 0.0)
    off[rows.gap | rows.below | rows.above] = 0.0  # on which side of a jump it is, is no matter of how far
    slopes = finite_numbers(np.abs(curve.slopes.value), 0.0)
    seen = (off > 0) & (slopes >= moving_maximum(slopes, _NEARBY) / 2)
    moved = moving_maximum(np.divide(off, slopes, where=seen, out=np.zeros_like(off)), _NEARBY)
    return lambda x: np.interp(x, evaluation.rows.x, np.minimum(moved, curve.slopes.step))
