"""The pipeline of one section: forward, analytical and numerical gradient, surrogate, linearity, whole range."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import torch

from ...runtime import timing
from ...runtime.arrays import EPSILON, Array, finite_numbers, largest_magnitude
from ...runtime.batching import Batch, Known, alike_batch, find_batch
from ...runtime.call_cost import SLOW
from ...runtime.failure import Failure, FunctionFailed
from ...runtime.reference import lost_to_double
from ...runtime.rejected_points import find_rejected
from ...runtime.remembered import stand_in
from ...runtime.section import Section
from ...runtime.timeouts import finished_within, seconds_left
from ..differentiation.finite_differences import EVIDENCE_BOUNDS, PointKind, ladder_points
from ..differentiation.noise import STEEPNESS_QUANTILE, moving_maximum
from ..linearity.laws import surrogate_explains_scaling
from ..sampling.grid import Grid, Rows, grid_rows
from ..sampling.refinement import kink_sides, refinement_points
from ..singularities.special_points import SpecialPoint
from ..status import Status
from ..tolerance import FEW_ULPS, Tolerance, tolerance_for
from ..whole_range.check import WholeRangeCheck, check_whole_range, tolerated_range
from .curve import Curve, local_scale, measure_curve, pieces_of, remeasure_doubtful, without_slopes
from .evaluation import Evaluation
from .first_answers import FirstAnswers, first_answers
from .integral_check import Antiderivative, IntegralCheck, cell_areas, check_integrals
from .row_values import RowValues
from .section_singularities import gradient_jumps, is_rough
from .slow_function import ALL_SHARE, evaluate_few, first_call

__all__ = ["Evaluation", "Grid", "evaluate"]

# bound: the noise of forward, as a share of its rise, above which it looks like jumps; and above which it disturbs the
# small differences by which the grid is refined.
_JUMP_NOISE, _REFINEMENT_NOISE = 1e-5, 1e-11
_NO_POINTS = np.empty(0)
_SAFETY = 3.0  # bound: a safety factor on the noise estimated from a few samples
# bound: what a short dtype has lost at a row, it may have lost within this many rows of it. That is a smooth bias, and
# no noise, if it is _BIAS_RATIO times its own third difference and forward is no staircase.
_NOISE_REACH = 25
_BIAS_RATIO = 100.0  # pattern: so much larger than what is rough about it, it is another function that is computed
_ORDINARY = 1e4  # sample: to x a forward adds numbers of up to this size
_MIN_DISTINCT = 0.5  # pattern: with distinct values at less than this share of the rows, it is a staircase


@np.errstate(all="ignore")  # what overflows or is no number is told by the rows where it is
def evaluate(
    section: Section, grid: Grid, grad_output: float = 1.0, step: float | None = None, also: Array = _NO_POINTS
) -> Evaluation:
    """Evaluate ``section`` on ``grid``; ``step`` is the widest step of the finite differences, chosen if None.

    There are rows at the points ``also``, too, which lie in the grid and between its points, and where the check of
    the whole range finds a difference between the rows. Raises ``FunctionFailed`` where forward fails; a failing
    backward or surrogate is reported in ``failure``. Of a slow Function there are few rows, and most is left out.
    """
    until = timing.now() + seconds_left()
    first = first_call(section.alone(), stand_in(grad_output))
    if first.seconds <= SLOW:
        seconds, known = ALL_SHARE * (until - timing.now()), Known(first.returned)
        found = finished_within(seconds, partial(_with_rows_between, section, grid, grad_output, step, also, known))
        if found is not None:
            return found
    return evaluate_few(section, grid, grad_output, step, first, until)


def _with_rows_between(
    section: Section, grid: Grid, grad_output: float, step: float | None, also: Array, known: Known
) -> Evaluation:
    """The evaluation, with rows where the check of the whole range finds a difference between those of the grid."""
    found = _evaluated(section, grid, grad_output, step, also, known)
    wide = found.whole_range
    if wide is None or not wide.intervals or section.order == 2:
        return found
    seen = (wide.x > grid.start) & (wide.x < grid.stop) & (wide.status == Status.DIFFERS)
    between = np.setdiff1d(wide.x[seen], found.rows.x)
    if not between.size:
        return found
    return _evaluated(section, grid, grad_output, step, np.union1d(between, also), known)


@np.errstate(all="ignore")
def _evaluated(
    section: Section, grid: Grid, grad_output: float, step: float | None, also: Array, known: Known
) -> Evaluation:
    asked = first_answers(section, grid, grad_output, step, known)
    section, reference, grid = asked.section, asked.reference, asked.grid
    special, rows = asked.special, _with_rows(asked, also)
    at, returned = rows.rows, rows.returned
    # Where backward is in proportion to grad_output, one stands for all of its sign.
    unit = stand_in(grad_output) if asked.in_proportion else grad_output
    batch_meant = _meant(section, at, grad_output, unit)
    meant = batch_meant.section if batch_meant else None
    numerical, surrogate, no_surrogate = _curves(asked, rows, batch_meant, step)
    numerical, share = _known_in_pieces(numerical, at, returned.grad_input, grad_output, special)
    poles = any(each.kind == "pole" for each in special) or not np.isfinite(returned.values).all()
    slopes = [curve.slopes.value for curve in (numerical, surrogate) if curve]
    steepest = max(largest_magnitude(each, STEEPNESS_QUANTILE if poles else 1.0) for each in slopes)
    largest, scale = abs(grad_output) * steepest, local_scale(slopes, steepest if grad_output else 0.0)
    wide = None
    if asked.repeats and grad_output:
        times, reach = grad_output / unit, _power_of_ten(max(abs(grid.start), abs(grid.stop)))
        wide = check_whole_range(section, reference, unit, largest / abs(times), meant, reach).times(times)
        wide = tolerated_range(wide, Tolerance(0.0, share)) if share else wide
        numerical = _known_better(numerical, at, wide, grad_output)
    doubt = _kink_uncertainty(at, special) * largest
    area, surrogate_area = _areas(asked, rows, numerical, surrogate, meant, largest, scale, doubt)
    called_for = max(largest, _largest_inwards(wide, grid))
    return Evaluation(
        section=section,
        reference=reference,
        meant=meant,
        rows=at,
        grid=grid,
        grad_output=grad_output,
        forward=returned.values,
        analytical=returned.grad_input,
        returned_none=returned.none,
        numerical=numerical,
        surrogate=surrogate,
        largest_gradient=largest,
        local_scale=scale,
        precision_loss=_precision_loss(asked, rows, called_for),
        area=area,
        surrogate_area=surrogate_area,
        special=special,
        deterministic=asked.deterministic,
        linearity=asked.linearity,
        whole_range=wide,
        failure=rows.failure or no_surrogate,
        surrogate_nonlinear=surrogate_explains_scaling(section, asked.x, grad_output, asked.linearity),
        refused=find_rejected(section.forward, at.x, returned.values),
    )


def _with_rows(asked: FirstAnswers, also: Array) -> RowValues:
    """The answers with more rows: at special points, where curves bend, where backward leaps, and ``also`` there."""
    section, reference, x, y, special = asked.section, asked.reference, asked.x, asked.y, asked.special
    gradient, grad_output = asked.returned.grad_input, asked.grad_output
    jumps = gradient_jumps(section, x, gradient, special, grad_output) if asked.repeats else ()
    if asked.rows and asked.repeats and not (jumps or also.size):
        at = asked.rows
    else:
        at = grid_rows(x, special, jumps if jumps and not is_rough(reference, x, y, _JUMP_NOISE) else ()).joined(also)
        at = at.joined(kink_sides(section, at, special)) if asked.repeats and special else at
    known = y if asked.at is x else asked.answered.values
    rows = RowValues(section, reference, grad_output, at, asked.at, known, asked.answered, asked.failure, asked.inside)
    rows = rows if at.x is x else rows.at(at)
    if not asked.repeats:
        return rows
    gradient = rows.returned.grad_input
    extra = refinement_points(section, reference, rows.rows, rows.y, gradient, special, grad_output, asked.precision)
    if extra.size and not is_rough(reference, x, y, _REFINEMENT_NOISE):
        rows = rows.at(rows.rows.joined(extra))
    rows = rows.looked_inside()
    leaps = rows.leaps()
    return rows.at(rows.rows.joined(leaps)) if leaps.size else rows


def _curves(
    asked: FirstAnswers, rows: RowValues, meant: Batch | None, step: float | None
) -> tuple[Curve, Curve | None, Failure | None]:
    """Forward and what is ``meant`` in its place, with their slopes at the rows, or why there is no such curve."""
    section, reference, at, grad_output = asked.section, asked.reference, rows.rows, asked.grad_output
    span, gradient, in_double = asked.grid.span, rows.returned.grad_input, asked.precision == EPSILON
    ladder = asked.ladder if in_double and np.array_equal(at.x, asked.at) else None
    if not ladder and meant and in_double:  # whose points both curves share
        ladder = ladder_points(at.x, span, step)
    numerical = measure_curve(reference, at, rows.y, span, step, asked.precision, ladder)
    numerical = remeasure_doubtful(reference, at, numerical, gradient, grad_output, section.dtype)
    numerical = _without_gaps(numerical, at)
    numerical = numerical if asked.deterministic or section.one_draw else without_slopes(numerical)
    if meant is None:
        return numerical, None, None
    try:
        values = meant.results.values if meant.results else meant.section.forward(at.x)
        ladder = replace(ladder, values=None) if ladder else None
        surrogate = measure_curve(meant.section, at, values, span, step, known=ladder)
        surrogate = remeasure_doubtful(meant.section, at, surrogate, gradient, grad_output, section.dtype)
        return numerical, surrogate, None
    except FunctionFailed as error:
        return numerical, None, error.failure


def _known_in_pieces(
    curve: Curve, at: Rows, analytical: Array | None, grad_output: float, special: tuple[SpecialPoint, ...]
) -> tuple[Curve, float]:
    """The curve with slopes known no better than forward's pieces, as of a solver, and what share that explains."""
    if analytical is None or not (grad_output and special):
        return curve, 0.0
    known = pieces_of(curve, at.x, analytical, grad_output, special).known(at.x)
    share = EVIDENCE_BOUNDS * largest_magnitude(known / np.abs(curve.slopes.value))
    return replace(curve, slopes=curve.slopes.known_to(known)), share


def _areas(
    asked: FirstAnswers,
    rows: RowValues,
    numerical: Curve,
    surrogate: Curve | None,
    meant: Section | None,
    largest: float,
    scale: Array,
    doubt: Array,
) -> tuple[IntegralCheck | None, IntegralCheck | None]:
    """The checks of the cells between the rows against both curves; none where backward does not answer the same."""
    section, grad_output, at, values = asked.section, asked.grad_output, rows.rows, rows.returned.values
    if not asked.repeats or (gradient := rows.returned.grad_input) is None:
        return None, None
    areas, tolerance = cell_areas(section, at, grad_output, rows.inside), tolerance_for(largest, section.dtype)
    steep = np.abs(gradient / grad_output) if grad_output else np.zeros(at.x.size)
    noise = forward_rounding(section.dtype, at.x, numerical, values, steep)
    target = Antiderivative(
        section.forward, values, numerical.slopes, noise, gradient, asked.reference.forward, meant is None
    )
    area = check_integrals(section, at, target, grad_output, tolerance, scale, doubt, areas)
    if not (meant and surrogate):
        return area, None
    noise = forward_rounding(torch.float64, at.x, surrogate, surrogate.values, steep)
    target = Antiderivative(meant.forward, surrogate.values, surrogate.slopes, noise, gradient, meant.forward)
    return area, check_integrals(section, at, target, grad_output, tolerance, scale, doubt, areas)


def _without_gaps(curve: Curve, at: Rows) -> Curve:
    """The curve with no slope in the gap of a jump."""
    if not at.gap.any():
        return curve
    value = np.where(at.gap, np.nan, curve.slopes.value)
    kind = np.where(at.gap, PointKind.JUMP, curve.slopes.kind).astype(np.int8)
    return replace(curve, slopes=replace(curve.slopes, value=value, kind=kind))


def _known_better(curve: Curve, at: Rows, wide: WholeRangeCheck, grad_output: float) -> Curve:
    """The curve with the slopes that accuse backward over the whole range, at the rows where those are known better.

    There the steps of the range may be too wide to see a slope at all.
    """
    if not wide.intervals:
        return curve
    accused = np.flatnonzero((wide.status == Status.DIFFERS) & np.isfinite(wide.numerical) & np.isin(wide.x, at.x))
    rows, slopes = np.searchsorted(at.x, wide.x[accused]), curve.slopes
    error = wide.error[accused] / abs(grad_output)
    better = ~(slopes.error_by_kind[rows] <= error) & ~at.gap[rows]
    rows, error, value = rows[better], error[better], wide.numerical[accused][better] / grad_output
    kind = np.full(rows.size, PointKind.SMOOTH, np.int8)
    found = replace(slopes.at(rows), value=value, left=value, right=value, kind=kind)
    found = replace(found, error=error, left_error=error, right_error=error)
    return replace(curve, slopes=slopes.with_rows(rows, found))


def _kink_uncertainty(at: Rows, special: tuple[SpecialPoint, ...]) -> Array:
    """How far each row may be from the kink located there."""
    uncertainty = np.zeros(at.x.size)
    for each in special:
        if each.kind in ("kink", "cusp"):
            row = min(int(np.searchsorted(at.x, each.x)), uncertainty.size - 1)
            uncertainty[row] = 2 * (each.right - each.left)
    return uncertainty


def _precision_loss(asked: FirstAnswers, rows: RowValues, scale: float) -> Array:
    """How far what backward returned is from what it returns in double precision, as far as rounding explains that.

    It does up to some places of ``scale``. Where forward is off its ``values`` in double precision by more than its
    last places, it rounds on its way, and in the short dtype no slope is better known than the rise over a cell of the
    ``grid``.
    """
    section, at, returned, values = asked.section, rows.rows, rows.returned, rows.y
    if returned.grad_input is None:
        return np.zeros(at.x.size)
    exact = asked.exact if at.x is asked.x else None
    lost = lost_to_double(section, asked.reference, at.x, asked.grad_output, returned.grad_input, exact)
    if not lost.any():
        return lost
    last_places = FEW_ULPS * torch.finfo(section.dtype).eps * np.abs(values)
    off = np.maximum(_lost_by_rounding(values, returned.values) - last_places, 0.0)
    cell = asked.grid.span / asked.grid.count
    sides = at.x + _NOISE_REACH * np.array([[-cell], [cell]])
    off = np.maximum.reduceat(np.append(finite_numbers(off), 0.0), np.searchsorted(at.x, sides).T.ravel())[::2]
    return np.minimum(lost, np.maximum(tolerance_for(scale, section.dtype).atol, abs(asked.grad_output) * off / cell))


def _largest_inwards(wide: WholeRangeCheck | None, grid: Grid) -> float:
    """The largest ``grad_input`` called for between the range and a tenth of its distance from 0."""
    if wide is None:
        return 0.0
    near, far = sorted((abs(grid.start), abs(grid.stop)))
    size = np.abs(wide.x)
    return largest_magnitude(wide.numerical[(size >= near / 10) & (size <= far)])


def _power_of_ten(size: float) -> float:
    """The least power of ten, from 1 on, that is as large; of what is far away none."""
    return float(10.0 ** np.ceil(np.log10(min(max(size, 1.0), _ORDINARY))))


def _meant(section: Section, at: Rows, grad_output: float, unit: float) -> Batch | None:
    """The section through the surrogate, where there is one that this backward is meant to follow.

    That is the one for a ``unit`` of grad_output, if it has the same values.
    """
    call, usual = (section.op.surrogate_for(section.wrt, each) for each in (grad_output, unit))
    if call is None or usual is None or section.sweeps_parameter:
        return None
    meant = replace(section, call=usual, dtype=torch.float64, device="cpu")
    batch = alike_batch(meant, at.x) or find_batch(meant, at.x)
    if usual is call or _same_values(batch.section, replace(batch.section, call=call), at.x):
        return batch
    return find_batch(replace(batch.section.alone(), call=call), at.x)


def _same_values(one: Section, other: Section, x: Array) -> bool:
    try:
        return np.array_equal(one.forward(x), other.forward(x), equal_nan=True)
    except FunctionFailed:
        return False


def forward_rounding(dtype: torch.dtype, x: Array, curve: Curve, rounded: Array, returned: Array) -> Array:
    """How far forward's values at ``x`` may be off by rounding, in a section's ``dtype``.

    ``curve`` is forward in double precision, ``rounded`` its values in the dtype. On its way a forward may round ``x``,
    which shows by its slope, and by what was ``returned`` for it.
    """
    values, slopes = curve.values, curve.slopes
    smooth = (slopes.kind == PointKind.SMOOTH) & np.isfinite(slopes.value)
    steep = np.where(smooth, np.abs(slopes.value), 0.0)
    steep = np.maximum(steep, finite_numbers(returned, infinity=0.0))
    eps = max(torch.finfo(dtype).eps, 2 * slopes.precision)
    known = np.maximum(2 * eps * np.abs(values) + eps * np.abs(x) * steep, _SAFETY * slopes.noise)
    return known if dtype == torch.float64 else np.maximum(_dtype_noise(values, rounded), known)


def _dtype_noise(values: Array, rounded: Array) -> Array:
    """What a shorter dtype may have lost of the ``values`` near each of them."""
    return 2 * _SAFETY * moving_maximum(_lost_by_rounding(values, rounded), _NOISE_REACH)


def _lost_by_rounding(values: Array, rounded: Array) -> Array:
    """How far the ``values`` are off in a shorter dtype; if that computes another, smooth function, how roughly."""
    off = finite_numbers(rounded - values, infinity=0.0)
    return _roughness(off) if is_another(values, rounded) else np.abs(off)


def is_another(values: Array, rounded: Array) -> bool:
    """Whether in a shorter dtype another, smooth function is computed: one that is off the ``values`` by no noise."""
    off = finite_numbers(rounded - values, infinity=0.0)
    if largest_magnitude(off) <= _BIAS_RATIO * largest_magnitude(_roughness(off)):
        return False
    return np.unique(rounded).size >= _MIN_DISTINCT * rounded.size


def _roughness(off: Array) -> Array:
    return np.abs(np.diff(off, 3, prepend=off[:1], append=np.repeat(off[-1:], 2)))
