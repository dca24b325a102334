"""A closer look at the rows and cells that seem to differ or are in doubt, before backward is accused."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from ...runtime.arrays import Array, Forward, Mask, consecutive_differences, largest_magnitude, unit_shares
from ..curve.curve import Curve, nan_outside_domain
from ..curve.evaluate import is_another
from ..curve.evaluation import Evaluation
from ..differentiation.confirmation import SHARE_SEEN, Closeness, Dispute, confirmed, slopes_seen_closely, wavers
from ..status import Status
from ..tolerance import Tolerance
from .differences import differences_at_rows
from .slope_judge import Statuses

# budget: at most so many of the rows that differ are looked at closer, fewer where each point costs a call of its own;
# the others follow the nearest of them. And of a cell so many parts, the worst of which is divided again so often.
_MOST_CONFIRMED, _MOST_CELLS, _MOST_CONFIRMED_ALONE, _PARTS, _PARTS_ALONE, _LEVELS = 32, 150, 3, 16, 4, 3
_MIN_PARTS = 2  # pattern: a cell differs inside if so many of its parts do
_GROSS = 1e-6  # pattern: differences converge to a slope that is off by less than this share by no chance


def look_closely(
    evaluation: Evaluation, curve: Curve, status: Statuses, cells: Statuses, tolerance: Tolerance, allowed: Array
) -> None:
    """Decide at the smallest scale on which forward is straight: what seems to differ, and what is undecided."""
    assert evaluation.analytical is not None
    area, explained = evaluation.area_under(curve), allowed + tolerance.rtol * np.abs(evaluation.analytical)
    if area is not None:
        explained[area.ends] += 2 * area.noise / curve.slopes.step  # of both ends
    _look_at_rows(evaluation, curve, status, explained)
    if area is None or not cells.size:
        return
    wrong, ends = (status == Status.DIFFERS)[area.ends], allowed[area.ends]
    slack = np.maximum(ends[1:], ends[:-1])
    doubtful = np.isin(cells, (Status.UNDECIDED, Status.JUMP)) & (not curve.unseen)
    for asked, levels in (((cells == Status.DIFFERS) & ~(wrong[1:] | wrong[:-1]), _LEVELS), (doubtful, 1)):
        rows = np.flatnonzero(asked)
        some = _some_of(rows, evaluation, _MOST_CELLS)
        low, high = area.left[some], area.right[some]
        # What differs in a cell as a whole may hide in it; in doubt, a part must differ by more than forward's noise.
        noise = (area.noise[some] + area.noise[some + 1]) if asked is doubtful else np.zeros(some.size)
        holds = _differs_inside(evaluation, curve, (low, high), slack[some], noise, tolerance.rtol, levels)
        if asked is doubtful:
            cells[some[holds]] = Status.DIFFERS
        elif rows.size:
            cells[rows[~_for_all(rows, some, holds)]] = Status.UNDECIDED


def _look_at_rows(evaluation: Evaluation, curve: Curve, status: Statuses, explained: Array) -> None:
    """``explained`` is how far a row in doubt may be off by rounding, and over the widest step by forward's noise."""
    x, off, right, _ = differences_at_rows(evaluation, curve)
    returned = evaluation.analytical
    assert returned is not None
    scale, closeness = evaluation.grad_output, _closenesses(evaluation, curve)[0]
    disputed = np.flatnonzero((status == Status.DIFFERS) & (off > 0) & np.isfinite(off))
    if disputed.size:
        some = np.union1d(_some_of(disputed, evaluation), disputed[off[disputed].argmax()])
        dispute = Dispute(x[some], returned[some] / scale, off[some] / abs(scale))
        answer = confirmed(closeness, dispute)
        # Differences do not converge by chance to a slope that is off by so little.
        gross = off[some] > _GROSS * np.maximum(np.abs(returned[some]), np.abs(right[some]))
        holds = (answer.contradicts | answer.hidden | ~gross & ~answer.follows) & ~wavers(
            _returned_at(evaluation), dispute, closeness.eps
        )
        status[disputed[~_for_all(disputed, some, holds)]] = Status.UNDECIDED
    undecided = np.flatnonzero((status == Status.UNDECIDED) & np.isfinite(returned))
    some = _some_of(np.setdiff1d(undecided, disputed), evaluation)
    slope = slopes_seen_closely(closeness, x[some], returned[some] / scale)
    distance: Array = np.where(slope == 0, np.nan, np.abs(returned[some] / scale - slope))  # a step is flat
    far = distance > np.maximum(2 * SHARE_SEEN * np.abs(returned[some]), explained[some]) / abs(scale)
    some, distance = some[far], distance[far]
    dispute = Dispute(x[some], returned[some] / scale, distance)
    against = confirmed(closeness, dispute).contradicts
    if against.any():
        status[some[against & ~wavers(_returned_at(evaluation), dispute, closeness.eps)]] = Status.DIFFERS


def _returned_at(evaluation: Evaluation) -> Forward:
    """What backward returns for a unit of grad_output."""
    section, scale = evaluation.section, evaluation.grad_output

    def returned_at(x: Array) -> Array:
        returned = section.backward(section.snap(x), scale).grad_input
        return np.zeros(x.size) if returned is None else returned / scale

    return returned_at


def _differs_inside(
    evaluation: Evaluation,
    curve: Curve,
    cells: tuple[Array, Array],
    allowed: Array,
    noise: Array,
    rtol: float,
    levels: int,
) -> Mask:
    """Which cells have a point in them at which backward differs by more than is allowed; the worst part is divided.

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
        holds[left] = against.sum(axis=0) >= _MIN_PARTS
        worst, column = np.nan_to_num(off).argmax(axis=0), np.arange(left.size)
        low[left], high[left] = edges[worst, column], edges[worst + 1, column]
    return holds


def _disputed_parts(
    evaluation: Evaluation, curve: Curve, cells: tuple[Array, Array], allowed: Array, noise: Array, rtol: float
) -> tuple[Array, Array, Mask]:
    """The edges of the parts of each cell, how far backward is off in their middles, and whether that is confirmed."""
    section, scale, (low, high) = evaluation.section, evaluation.grad_output, cells
    parts = _PARTS if section.stacked else _PARTS_ALONE
    edges = section.snap((low + (high - low) * unit_shares(parts)).ravel()).reshape(parts + 1, low.size)
    middle = section.snap(((edges[1:] + edges[:-1]) / 2).ravel())
    gradient = section.backward(middle, scale).grad_input
    returned = np.zeros(edges[1:].shape) if gradient is None else gradient.reshape(edges[1:].shape)
    worst, against = np.zeros(returned.shape), np.zeros(returned.shape, bool)
    for closeness in _closenesses(evaluation, curve):
        rises = consecutive_differences(closeness.forward(edges.ravel()).reshape(edges.shape))
        widths = edges[1:] - edges[:-1]
        off = np.abs(returned / scale - rises / widths)
        asked = off * abs(scale) > allowed + rtol * np.abs(returned) + noise / widths
        dispute = Dispute(middle.reshape(asked.shape)[asked], returned[asked] / scale, off[asked])
        holds = confirmed(closeness, dispute).contradicts
        against[asked] |= holds
        if holds.any():
            against[asked] &= ~wavers(_returned_at(evaluation), dispute, closeness.eps)
        worst = np.fmax(worst, off)
    return edges, worst, against


def _some_of(disputed: NDArray[np.intp], evaluation: Evaluation, most: int = _MOST_CONFIRMED) -> NDArray[np.intp]:
    """As many of these as there is time to look at closer."""
    most = most if evaluation.section.stacked else _MOST_CONFIRMED_ALONE
    return disputed[np.linspace(0, disputed.size - 1, min(most, disputed.size)).astype(np.intp)]


def _for_all(places: NDArray[np.intp], some: NDArray[np.intp], holds: Mask) -> Mask:
    """Whether it holds at each of the places: as it does at ``some``, elsewhere if it does at one of the two around."""
    after = np.minimum(np.searchsorted(some, places), some.size - 1)
    before = np.maximum(np.searchsorted(some, places, side="right") - 1, 0)
    around: Mask = holds[after] | holds[before]
    return around


def _closenesses(evaluation: Evaluation, curve: Curve) -> tuple[Closeness, ...]:
    """How closely a curve can be looked at: in double precision, and where that is another one in the dtype's own."""
    section, eps = evaluation.section, torch.finfo(evaluation.dtype).eps
    height, reach = largest_magnitude(curve.values), largest_magnitude(evaluation.rows.x)
    forward, slopes = nan_outside_domain(evaluation.section_of(curve), evaluation.rows.x), curve.slopes
    precise = Closeness(forward, slopes.step, slopes.precision, eps, height, reach)
    same = evaluation.dtype == evaluation.numerical_dtype or curve is not evaluation.numerical
    if same or not is_another(curve.values, evaluation.forward):
        return (precise,)
    own = nan_outside_domain(section, evaluation.rows.x)
    return precise, Closeness(own, slopes.step, eps / 2, eps, height, reach, section.snap)
