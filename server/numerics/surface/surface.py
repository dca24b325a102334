"""Two elements swept at once: forward, what backward returns for both, the numerical gradient, and the curl test."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...runtime.arrays import Array
from ...runtime.batching import batched_plane, plane_structure
from ...runtime.failure import Failure, FunctionFailed
from ...runtime.plane import GradientField, Plane
from ...runtime.reference import is_repeated, reference_of
from ...runtime.section import Section
from ..differentiation.finite_differences import Slopes
from ..status import Status
from ..tolerance import Allowance
from ..verdict.slope_judge import Statuses, error_band, without_remarks
from .axes import PlaneGrid
from .curl import CurlTest, field_components, run_curl_test
from .point_status import accept_subgradients, judge_plane_points, plane_tolerance
from .singular_lines import SingularLines, find_singular_lines


@dataclass(frozen=True)
class GradientComponent:
    """One component of the gradient, one element a point: ``returned`` is None for a parameter.

    ``numerical`` and ``allowed`` are of ``grad_input``: what differences say, and how far ``returned`` may be from it.
    """

    returned: Array | None
    none: bool
    numerical: Array
    slopes: Slopes
    allowed: Array
    status: Statuses


@dataclass(frozen=True)
class Surface:
    """Everything measured of a plane: flat arrays, row by row of one ``y``.

    ``first`` and ``second`` are the components along ``x`` and ``y``. ``swapped``: each was returned for the other.
    ``surrogate``: what was returned is the gradient of the surrogate. ``potential`` is None where there is no field.
    """

    x: Array
    y: Array
    values: Array
    first: GradientComponent
    second: GradientComponent
    ridges: SingularLines
    potential: CurlTest | None
    deterministic: bool
    swapped: bool
    surrogate: bool
    structure: str
    failure: Failure | None

    @property
    def status(self) -> Statuses:
        """The status of each point, of both components the one that says more against backward."""
        known = [each.status for each in (self.first, self.second) if each.returned is not None]
        return np.maximum.reduce(known) if known else self.first.status


@np.errstate(all="ignore")
def surface(
    along: Section,
    across: Section,
    x: Array,
    y: Array,
    grad_output: float,
    step: float | None = None,
    cells: int | None = None,
    atol: float | None = None,
    rtol: float | None = None,
) -> Surface:
    """Look at the plane of two sections of one op at the points ``x`` × ``y``; ``step`` is the widest difference.

    ``cells`` a side are what the potential test looks at, chosen if None; with 0 it is left out.
    Raises ``FunctionFailed`` where forward fails; a failing backward is reported in ``failure``.
    """
    allowance = Allowance(along.dtype, atol, rtol)
    plane = batched_plane(along, across, x, y, grad_output)
    reference = _reference(plane, x, y, grad_output)
    s, t = (each.ravel() for each in np.meshgrid(x, y))
    field, failure = _run_backward(plane, s, t, grad_output)
    exact = field if reference is plane else _run_backward(reference, s, t, grad_output)[0]
    ground = PlaneGrid(reference, x, y, exact.values)
    deterministic = is_repeated(reference.forward(*ground.points), ground.values, reference.along.device)
    slopes = _slopes(ground, exact, grad_output, step)
    first, second = (
        _component(allowance, *each, grad_output, deterministic)
        for each in zip(field.both, exact.both, field.none, slopes, ground.heights, strict=True)
    )
    first, second = (
        _accept_at_kinks(ground, mine, other.slopes, grad_output, allowance)
        for mine, other in ((first, second), (second, first))
    )
    complete = first.returned is not None and second.returned is not None
    testable = complete and deterministic and not failure and grad_output != 0
    tested = testable and cells != 0
    return Surface(
        x=x,
        y=y,
        values=field.values,
        first=first,
        second=second,
        ridges=find_singular_lines(ground, slopes),
        potential=run_curl_test(partial(field_components, reference, grad_output), x, y, reference.expensive, cells)
        if tested
        else None,
        deterministic=deterministic,
        swapped=testable and _is_swapped(first, second, ground, grad_output, allowance),
        surrogate=deterministic and not failure and _follows_surrogate(ground, field, grad_output, allowance, step),
        structure=plane_structure(plane),
        failure=failure,
    )


def _reference(plane: Plane, x: Array, y: Array, grad_output: float) -> Plane:
    """The plane in double precision on the CPU, or as it is where the Function refuses that."""
    along = reference_of(plane.along, x, grad_output)
    if along is plane.along:
        return plane
    across = along.alone(wrt=plane.across.wrt, wrt_index=plane.across.wrt_index)
    return batched_plane(along, across, x, y, grad_output)


def _run_backward(plane: Plane, s: Array, t: Array, grad_output: float) -> tuple[GradientField, Failure | None]:
    try:
        return plane.backward(s, t, grad_output), None
    except FunctionFailed as error:
        if error.failure.phase == "forward":
            raise
        return GradientField(plane.forward(s, t), None, None), error.failure


def _slopes(ground: PlaneGrid, field: GradientField, grad_output: float, step: float | None) -> tuple[Slopes, Slopes]:
    """The slopes along both axes."""
    first, second = (
        ground.slopes(which, returned / grad_output if returned is not None and grad_output else None, step)
        for which, returned in enumerate(field.both)
    )
    return first, second


def _component(
    allowance: Allowance,
    returned: Array | None,
    exact: Array | None,
    none: bool,
    slopes: Slopes,
    height: float,
    grad_output: float,
    deterministic: bool,
) -> GradientComponent:
    tolerance, numerical = plane_tolerance(slopes, grad_output, allowance), grad_output * slopes.value
    lost = np.zeros(numerical.size)
    if returned is not None and exact is not None and exact is not returned:
        lost = np.minimum(np.nan_to_num(np.abs(returned - exact), posinf=0.0), tolerance.atol)
    if returned is None:
        status = np.full(numerical.size, Status.GAP, np.int8)
    elif not deterministic:
        status = np.full(numerical.size, Status.UNDECIDED, np.int8)
    else:
        status = judge_plane_points(returned, slopes, grad_output, tolerance, allowance.dtype, height, lost)
        if allowance.remarks:
            status = without_remarks(status, np.abs(returned - numerical), numerical)
    allowed = tolerance.margin(numerical) + error_band(slopes.error, grad_output) + lost
    return GradientComponent(returned, none, numerical, slopes, allowed, status)


def _accept_at_kinks(
    ground: PlaneGrid, component: GradientComponent, across: Slopes, grad_output: float, allowance: Allowance
) -> GradientComponent:
    if component.returned is None:
        return component
    tolerance = plane_tolerance(component.slopes, grad_output, allowance)
    return replace(
        component,
        status=accept_subgradients(
            ground, component.status, component.returned, component.slopes, across, grad_output, tolerance
        ),
    )


def _is_swapped(
    first: GradientComponent, second: GradientComponent, ground: PlaneGrid, grad_output: float, allowance: Allowance
) -> bool:
    """Whether each component is the derivative with respect to the other, and not the one it should be."""
    if not any((each.status == Status.DIFFERS).any() for each in (first, second)):
        return False
    return _agrees_with(
        (second.returned, first.returned), (first.slopes, second.slopes), ground, grad_output, allowance
    )


def _follows_surrogate(
    ground: PlaneGrid, field: GradientField, grad_output: float, allowance: Allowance, step: float | None
) -> bool:
    """Whether what was returned is the gradient of the op's surrogate."""
    op, plane = ground.plane.along.op, ground.plane
    call, other = (op.surrogate_for(each.wrt, grad_output) for each in (plane.along, plane.across))
    if call is None or call is not other or grad_output == 0:
        return False
    along, across = (replace(each, call=call) for each in (plane.along, plane.across))
    try:
        surrogate_plane = batched_plane(along, across, ground.x, ground.y, grad_output)
        surrogate_grid = replace(ground, plane=surrogate_plane, values=surrogate_plane.forward(*ground.points))
        slopes = _slopes(surrogate_grid, field, grad_output, step)
    except FunctionFailed:
        return False
    return _agrees_with(field.both, slopes, surrogate_grid, grad_output, allowance)


def _agrees_with(
    returned: tuple[Array | None, Array | None],
    slopes: tuple[Slopes, Slopes],
    ground: PlaneGrid,
    grad_output: float,
    allowance: Allowance,
) -> bool:
    """Whether the components that there are are as these slopes call for, wherever that can be told."""
    for component, axis_slopes, height in zip(returned, slopes, ground.heights, strict=True):
        if component is None:
            continue
        tolerance = plane_tolerance(axis_slopes, grad_output, allowance)
        status = judge_plane_points(
            component, axis_slopes, grad_output, tolerance, allowance.dtype, height, tolerance.atol
        )
        if (status == Status.DIFFERS).any() or not (status == Status.AGREES).any():
            return False
    return any(axis_slopes is not None for axis_slopes in returned)
