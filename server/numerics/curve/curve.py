"""The numerical gradient of a section: forward at the rows of a grid and its slopes, again where in doubt."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...runtime.arrays import EPSILON, Array, Forward, evenly_chosen, finite_numbers, finite_rise, two_around
from ...runtime.failure import FunctionFailed
from ...runtime.remembered import A_FEW, remembered
from ...runtime.section import Section
from ..differentiation.finite_differences import (
    EVIDENCE_BOUNDS,
    LadderPoints,
    PointKind,
    Slopes,
    differentiate,
    remeasure,
)
from ..differentiation.map_slopes import random_direction
from ..differentiation.noise import moving_maximum
from ..differentiation.scatter import Pieces, most_explained, pieces_between, slope_scatter
from ..sampling.grid import LOOKED_AT_CLOSER, Rows
from ..singularities.special_points import SpecialPoint
from ..tolerance import CLEARLY, SIMILAR, SMALL, relative_tolerance

_LOST_SHARE = 1 / 16  # bound: what is within this share of the tolerance, as a dtype rounds, contradicts nothing
# budget: around so many points forward's jumps are looked for; the others, samples, how far, as a share of
# the range, and how near, as one of the widest step.
_MAX_SCATTERED, _SCATTERED_SHARE, SCATTERED_STEPS = 2, 2.0**-4, 2.0**-9
SCATTER_CALLS = 528  # budget: the calls for one of these points, in windows of 33, from one end to the other and closer
_ULPS = 16.0  # ulps: a change of at most this many counts as none
# bound: the slope below which nothing is seen at a row is taken from neighbours within this share of the range.
_NEIGHBOURHOOD = 0.05
_JUMP_ROWS = 2  # pattern: more rows than this on a jump mean that the jumps were not all located between the rows


@dataclass(frozen=True)
class Curve:
    """The values of a function on the rows of a grid, and its slopes by differences.

    ``unseen`` says that the function moves in steps closer together than the rows.
    """

    values: Array
    slopes: Slopes
    unseen: bool = False


def measure_curve(
    section: Section,
    at: Rows,
    values: Array,
    span: float,
    step: float | None = None,
    precision: float = EPSILON,
    known: LadderPoints | None = None,
) -> Curve:
    """The curve of a section with these ``values``; rows next to a jump get the one-sided slope away from it.

    ``known`` is what ``differentiate`` may be given.
    """
    slopes = _slopes_along(section, at.x, values, span, step, precision, _Known(known))
    beside = at.below | at.above
    if beside.any():
        value = np.where(at.above, slopes.right, np.where(at.below, slopes.left, slopes.value))
        kind = np.where(beside, PointKind.EDGE, slopes.kind).astype(np.int8)
        slopes = replace(slopes, value=value, kind=kind, error=np.where(beside, np.nan, slopes.error))
    jumps = slopes.kind == PointKind.JUMP
    unseen = bool(jumps.any() and (jumps & ~at.gap).sum() > _JUMP_ROWS) or _moves_between(at, values, slopes)
    return Curve(values, slopes, unseen)


@dataclass(frozen=True)
class _Known:
    """What is known of forward before it is asked, which changes nothing about its slopes."""

    ladder: LadderPoints | None = field(compare=False)


@remembered(most=A_FEW)
def _slopes_along(
    section: Section, x: Array, values: Array, span: float, step: float | None, precision: float, known: _Known
) -> Slopes:
    return differentiate(nan_outside_domain(section, x), x, values, span, step, precision, known.ladder)


def _moves_between(at: Rows, values: Array, slopes: Slopes) -> bool:
    """Whether the function moves between the rows by more than its slopes at them account for, in many of the cells."""
    steep = np.abs(slopes.value) + EVIDENCE_BOUNDS * slopes.error
    with np.errstate(all="ignore"):
        explained = CLEARLY * (at.x[1:] - at.x[:-1]) * np.maximum(steep[1:], steep[:-1])
        rise = np.abs(values[1:] - values[:-1])
        unexplained = rise > explained + _ULPS * EPSILON * np.abs(values[1:])
    if not unexplained.any():
        return False
    smooth = slopes.kind == PointKind.SMOOTH
    finite = smooth[1:] & smooth[:-1] & np.isfinite(rise)
    return bool(finite.any() and unexplained[finite].mean() > SIMILAR)


def without_slopes(curve: Curve) -> Curve:
    """The curve of a function that is not deterministic, and so has no slope."""
    unresolved = np.full(curve.slopes.kind.shape, PointKind.UNRESOLVED, np.int8)
    columns = "value", "left", "right", "error", "left_error", "right_error"
    nan: dict[str, Any] = dict.fromkeys(columns, np.full(unresolved.shape, np.nan))
    return replace(curve, slopes=replace(curve.slopes, kind=unresolved, **nan), unseen=False)


def nan_outside_domain(section: Section, x: Array) -> Forward:
    """The section's forward for points a little beyond ``x`` too: NaN there, and at its ends, if those are refused."""

    def forward(t: Array) -> Array:
        try:
            return section.forward(t)
        except FunctionFailed:
            at = section.snap(t)  # a short dtype may round what lies inside onto an end
            try:
                return section.forward_within(t, (at >= x[0]) & (at <= x[-1]))
            except FunctionFailed:
                return section.forward_within(t, (at > x[0]) & (at < x[-1]))

    return forward


def remeasure_doubtful(
    section: Section,
    at: Rows,
    curve: Curve,
    analytical: Array | None,
    grad_output: float,
    dtype: torch.dtype = torch.float64,
) -> Curve:
    """The curve, with some points measured again by the finer ladder where it seems to contradict backward.

    It does not where that may be the rounding of its ``dtype``. A few points may have a bound too tight, and are all
    looked at again. Of many, some are sampled: if the finer ladder finds something else there, steps have gone unseen
    between the points of the coarser one, and no point of the curve is to be believed before it has been looked at
    again.
    """
    if analytical is None or not grad_output:
        return curve
    slopes, smooth = curve.slopes, curve.slopes.kind == PointKind.SMOOTH
    with np.errstate(all="ignore"):
        off = np.abs(analytical / grad_output - slopes.value)
        doubtful = slopes.doubted_by(analytical / grad_output)
        if doubtful.size:
            visible = _visible_slopes(at.x, curve.values, slopes)
            lost = _LOST_SHARE * relative_tolerance(dtype) * (np.abs(slopes.value) + visible)
            doubtful = doubtful[~(off <= lost)[doubtful]]
        if (scatter := _scatter(section, at, slopes, off, doubtful)).any():
            slopes = slopes.known_to(scatter)
            curve = replace(curve, slopes=slopes)
            doubtful = np.intersect1d(doubtful, slopes.doubted_by(analytical / grad_output))
    if not doubtful.size:
        return curve
    forward = nan_outside_domain(section, at.x)
    sampled = evenly_chosen(doubtful, LOOKED_AT_CLOSER)
    finer = remeasure(forward, at.x, curve.values, slopes, sampled, visible[sampled])
    with np.errstate(all="ignore"):
        differs = (finer.kind != PointKind.SMOOTH) | (np.abs(finer.value - slopes.value) + finer.error > SMALL * off)
    unseen = bool(doubtful.size > LOOKED_AT_CLOSER and differs[sampled].mean() > SIMILAR)
    if unseen:
        finer = remeasure(forward, at.x, curve.values, slopes, np.flatnonzero(smooth), visible[smooth])
    return Curve(curve.values, finer.known_to(scatter), unseen or curve.unseen)


def pieces_of(
    curve: Curve, x: Array, analytical: Array, grad_output: float, special: tuple[SpecialPoint, ...]
) -> Pieces:
    """The pieces of forward between its ``special`` points."""
    slopes, places = curve.slopes, np.array([[each.left, each.right] for each in special]).reshape(-1, 2)
    off = np.where(slopes.kind == PointKind.SMOOTH, analytical / grad_output - slopes.value, np.nan)
    return pieces_between(places, x, slopes.value, off)


def _scatter(section: Section, at: Rows, slopes: Slopes, off: Array, doubtful: NDArray[np.intp]) -> Array:
    """How well each slope is known at most as forward jumps, where that may be why what was returned is ``off``."""
    return scatter_along(section, at.x, slopes.value, off, doubtful, SCATTERED_STEPS * slopes.step)


def scatter_along(
    section: Section, x: Array, slope: Array, off: Array, doubtful: NDArray[np.intp], near: float
) -> Array:
    """How well each ``slope`` at increasing ``x`` is known at most, as forward jumps: where that may be why one is off.

    That is looked for at some of the ``doubtful``, on ways from ``near`` on; elsewhere it is the less of what was found
    at the two around.
    """
    asked = doubtful[off[doubtful] <= most_explained(slope[doubtful])]
    if not asked.size:
        return np.zeros(x.size)
    some = np.union1d(evenly_chosen(asked, _MAX_SCATTERED), asked[off[asked].argmax()])
    reach = _SCATTERED_SHARE * float(np.ptp(x))
    found = np.array([slope_scatter(_line_through(section, x[row], row), slope[row], near, reach) for row in some])
    after, before = two_around(some, np.arange(x.size))
    least: Array = np.minimum(found[after], found[before])
    return least


def _line_through(section: Section, x: float, seed: int) -> Forward:
    """Forward on a random line through all elements of all inputs, NaN where it is refused.

    Each point has a call of its own: where a solver stops depends on all that share a call, whichever is swept.
    """
    moves = {name: random_direction(len(values), seed) for name, values in section.inputs}

    def forward(way: Array) -> Array:
        found = np.full(way.size, np.nan)
        for place, t in enumerate(way):
            inputs = tuple((name, tuple((values + t * moves[name]).tolist())) for name, values in section.inputs)
            try:
                found[place] = replace(section.alone(), inputs=inputs).forward(np.array([x + t]))[0]
            except FunctionFailed:
                continue
        return found

    return forward


def local_scale(slopes: list[Array], steepest: float) -> Array:
    """The largest slope near each row, of one curve or of several, as a share of the ``steepest`` in the range."""
    if not steepest:
        return np.ones(slopes[0].size)
    near = np.abs(slopes[0]) if len(slopes) == 1 else np.abs(np.stack(slopes)).max(axis=0)
    if not np.isfinite(near).all():
        near = np.nan_to_num(np.abs(np.stack(slopes)), nan=steepest, posinf=steepest).max(axis=0)
    return np.minimum(moving_maximum(near, max(1, int(_NEIGHBOURHOOD * near.size))) / steepest, 1.0)


def _visible_slopes(x: Array, values: Array, slopes: Slopes) -> Array:
    """The slope below which nothing can be seen at each row: that of the picture, or of what is near if it is less."""
    picture = finite_rise(values) / np.ptp(x)
    near = finite_numbers(np.abs(slopes.value), picture, picture)
    return np.minimum(moving_maximum(near, max(1, int(_NEIGHBOURHOOD * x.size))), picture)
