"""The pipeline of one section: forward, analytical and numerical gradient, surrogate, linearity, whole range."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import torch

from ...runtime.arrays import Array, largest_magnitude
from ...runtime.batching import batched_section, section_structure
from ...runtime.failure import Failure, FunctionFailed
from ...runtime.rejected_points import find_rejected
from ...runtime.section import BackwardResult, Section
from ..differentiation.finite_differences import PointKind
from ..differentiation.noise import STEEPNESS_QUANTILE, moving_maximum, relative_precision
from ..differentiation.reference import is_deterministic, reference_of, with_one_draw
from ..linearity.laws import Linearity, above_rounding, check_linearity
from ..linearity.surrogate_scaling import surrogate_explains_scaling
from ..sampling.grid import Grid, Rows, grid_rows
from ..sampling.refinement import refinement_points
from ..sampling.thinning import thin_grid
from ..singularities.special_points import SpecialPoint
from ..tolerance import tolerance_for
from ..whole_range.check import WholeRangeCheck, check_whole_range
from .curve import Curve, measure_curve, nan_outside_domain, remeasure_doubtful, without_slopes
from .evaluation import Evaluation
from .integral_check import Antiderivative, check_integrals
from .rounding import forward_rounding
from .section_singularities import forward_singularities, gradient_jumps, is_rough
from .symmetric_inputs import with_mirrored_element

# Noise of forward, as a share of its rise, above which it looks like jumps; and above which it disturbs the small
# differences by which the grid is refined.
_SEEN, _FELT = 1e-5, 1e-11
# The slopes that set the tolerance of a point lie within this share of the range.
_NEARBY = 0.05


@np.errstate(all="ignore")  # what overflows or is no number is told by the rows where it is
def evaluate(section: Section, grid: Grid, grad_output: float = 1.0, step: float | None = None) -> Evaluation:
    """Evaluate ``section`` on ``grid``; ``step`` is the widest step of the finite differences, chosen if None.

    Raises ``FunctionFailed`` where forward fails; a failing backward or surrogate is reported in ``failure``.
    """
    x = np.unique(section.snap(grid.points()))
    section = with_mirrored_element(batched_section(section, x, grad_output), x, grad_output)
    grid = thin_grid(section, grid, grad_output)
    x = np.unique(section.snap(grid.points())) if grid.count < x.size else x
    reference = reference_of(section, x, grad_output)
    y = y_there = reference.forward(x)
    sure, drawn = is_deterministic(reference, x, y), False
    if not sure and (one := with_one_draw(section, x)):
        section, reference, drawn = one, one, True
        y = y_there = section.forward(x)
    precision = relative_precision(nan_outside_domain(reference, x), x, y)
    returned, failure = _returned(section, x, y, grad_output)
    linearity = Linearity() if failure else check_linearity(section, x, grad_output, returned)
    if section.order == 2:
        linearity = above_rounding(linearity, section, returned, grid.span)
    repeats = sure and not failure and not linearity.breaks("repeats")
    found = forward_singularities(section, reference, grid, precision) if sure or drawn else ()
    corners = gradient_jumps(section, x, returned.grad_input, found, grad_output) if repeats else ()
    at = grid_rows(x, found, corners if corners and not is_rough(reference, x, y, _SEEN) else ())
    if at.x is not x:
        y = reference.forward(at.x)
        returned, failure = _returned(section, at.x, y, grad_output)
    extra = (
        refinement_points(section, reference, at, y, returned.grad_input, found, grad_output, precision)
        if repeats
        else None
    )
    if extra is not None and extra.size and not is_rough(reference, x, y_there, _FELT):
        at = at.joined(extra)
        y = reference.forward(at.x)
        returned, failure = _returned(section, at.x, y, grad_output)

    numerical = measure_curve(reference, at, y, grid.span, step, precision)
    numerical = _without_gaps(remeasure_doubtful(reference, at, numerical, returned.grad_input, grad_output), at)
    numerical = numerical if sure or drawn else without_slopes(numerical)
    meant = _meant(section, at, grad_output)
    surrogate, unlike = _surrogate(meant, at, grid.span, returned.grad_input, grad_output, step)
    broken = any(each.kind == "pole" for each in found) or not np.isfinite(returned.values).all()
    slopes = [curve.slopes.value for curve in (numerical, surrogate) if curve]
    in_sight = abs(grad_output) * max(largest_magnitude(each, STEEPNESS_QUANTILE if broken else 1.0) for each in slopes)

    tolerance, doubt = tolerance_for(in_sight, section.dtype), _doubt(at, found) * in_sight
    share = _share(slopes, in_sight / abs(grad_output) if grad_output else 0.0)
    wide = check_whole_range(section, reference, grad_output, in_sight, meant) if repeats and grad_output else None
    area = surrogate_area = None
    if repeats and returned.grad_input is not None:
        noise = forward_rounding(section.dtype, at.x, numerical, returned.values)
        followed = Antiderivative(section.forward, returned.values, noise, returned.grad_input, reference.forward)
        area = check_integrals(section, at, followed, grad_output, tolerance, share, doubt)
        if meant and surrogate:
            noise = forward_rounding(torch.float64, at.x, surrogate, surrogate.values)
            followed = Antiderivative(meant.forward, surrogate.values, noise, returned.grad_input, meant.forward)
            surrogate_area = check_integrals(section, at, followed, grad_output, tolerance, share, doubt)
    return Evaluation(
        rows=at,
        grid=grid,
        grad_output=grad_output,
        forward=returned.values,
        analytical=returned.grad_input,
        returned_none=returned.none,
        numerical=numerical,
        surrogate=surrogate,
        in_sight=in_sight,
        share=share,
        lost=_lost(section, reference, at, returned, grad_output, max(in_sight, _further_in(wide, grid))),
        area=area,
        surrogate_area=surrogate_area,
        special=found,
        structure=section_structure(section),
        dtype=section.dtype,
        numerical_dtype=reference.dtype,
        numerical_device=reference.device,
        follows_sign=section.op.follows_sign,
        steady=sure,
        one_draw=drawn,
        mirror=section.mirror,
        linearity=linearity,
        wide=wide,
        failure=failure or unlike,
        order=section.order,
        foretold=surrogate_explains_scaling(section, x, grad_output, linearity),
        refused=find_rejected(section.forward, at.x, returned.values),
    )


def _returned(section: Section, x: Array, values: Array, grad_output: float) -> tuple[BackwardResult, Failure | None]:
    try:
        return section.backward(x, grad_output), None
    except FunctionFailed as error:
        if error.failure.phase == "forward":
            raise
        return BackwardResult(values, None, False), error.failure


def _without_gaps(curve: Curve, at: Rows) -> Curve:
    """The curve with no slope in the gap of a jump."""
    if not at.gap.any():
        return curve
    value = np.where(at.gap, np.nan, curve.slopes.value)
    kind = np.where(at.gap, PointKind.JUMP, curve.slopes.kind).astype(np.int8)
    return replace(curve, slopes=replace(curve.slopes, value=value, kind=kind))


def _doubt(at: Rows, found: tuple[SpecialPoint, ...]) -> Array:
    """How far each row may be from the kink located there."""
    doubt = np.zeros(at.x.size)
    for each in found:
        if each.kind in ("kink", "cusp"):
            row = min(int(np.searchsorted(at.x, each.x)), doubt.size - 1)
            doubt[row] = 2 * (each.right - each.left)
    return doubt


def _share(slopes: list[Array], in_sight: float) -> Array:
    """The largest slope near each row, as a share of the largest in the range."""
    if not in_sight:
        return np.ones(slopes[0].size)
    near = np.nan_to_num(np.abs(np.stack(slopes)), nan=in_sight, posinf=in_sight).max(axis=0)
    return np.minimum(moving_maximum(near, max(1, int(_NEARBY * near.size))) / in_sight, 1.0)


def _lost(
    section: Section, reference: Section, at: Rows, returned: BackwardResult, grad_output: float, scale: float
) -> Array:
    """How far what backward returned is from what it returns in double precision, up to some places of ``scale``."""
    lost, gradient = np.zeros(at.x.size), returned.grad_input
    if gradient is None or reference.dtype == section.dtype:
        return lost
    try:
        exact = reference.backward(at.x, grad_output).grad_input
    except FunctionFailed:
        return lost
    if exact is None:
        return lost
    return np.minimum(np.nan_to_num(np.abs(gradient - exact), posinf=0.0), tolerance_for(scale, section.dtype).atol)


def _further_in(wide: WholeRangeCheck | None, grid: Grid) -> float:
    """The largest ``grad_input`` called for between the range and a tenth of its distance from 0."""
    if wide is None:
        return 0.0
    near, far = sorted((abs(grid.start), abs(grid.stop)))
    size = np.abs(wide.x)
    return largest_magnitude(wide.numerical[(size >= near / 10) & (size <= far)])


def _meant(section: Section, at: Rows, grad_output: float) -> Section | None:
    """The section through the surrogate, where there is one that this backward is meant to follow."""
    op = section.op
    if op.surrogate is None or section.sweeps_parameter:
        return None
    call = partial(op.surrogate, grad_output=grad_output) if op.follows_sign else op.surrogate
    return batched_section(replace(section, call=call, dtype=torch.float64, device="cpu"), at.x)


def _surrogate(
    meant: Section | None, at: Rows, span: float, analytical: Array | None, grad_output: float, step: float | None
) -> tuple[Curve | None, Failure | None]:
    if meant is None:
        return None, None
    try:
        curve = measure_curve(meant, at, meant.forward(at.x), span, step)
        return remeasure_doubtful(meant, at, curve, analytical, grad_output), None
    except FunctionFailed as error:
        return None, error.failure
