"""Two elements swept at once: forward, what backward returns for both, the numerical gradient, and the curl test."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...runtime.arrays import Array
from ...runtime.batching import batched_plane
from ...runtime.failure import Failure, FunctionFailed, unless_backward_fails
from ...runtime.plane import GradientField, Plane
from ...runtime.reference import is_repeated, reference_of
from ...runtime.section import Section
from ..differentiation.finite_differences import Slopes
from ..status import Status
from ..tolerance import Allowance
from ..verdict.slope_judge import Statuses, error_band
from .axes import PlaneGrid
from .closer_look import look_closely
from .curl import CurlTest, field_components, run_curl_test
from .point_status import PlaneJudge
from .singular_lines import SingularLines, find_singular_lines


@dataclass(frozen=True)
class GradientComponent:
    """One component of the gradient, one element a point: ``returned`` is None for a parameter.

    ``numerical`` and ``allowed`` are of ``grad_input``: what differences say, and how far ``returned`` may be from it.
    """

    returned: Array | None
    numerical: Array
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
    plane = batched_plane(along, across, x, y, grad_output)
    reference = _reference(plane, x, y, grad_output)
    s, t = (each.ravel() for each in np.meshgrid(x, y))
    field, failure = _run_backward(plane, s, t, grad_output)
    exact = field if reference is plane else _run_backward(reference, s, t, grad_output)[0]
    ground = PlaneGrid(reference, x, y, exact.values)
    deterministic = is_repeated(reference.forward(*ground.points), ground.values, reference.along.device)
    slopes, allowance = _slopes(ground, exact, grad_output, step), Allowance(along.dtype, atol, rtol)
    judge = PlaneJudge(ground, slopes, grad_output, allowance)
    first, second = (
        _component(judge, plane, axis, *each, deterministic)
        for axis, each in enumerate(zip(field.both, exact.both, strict=True))
    )
    complete = first.returned is not None and second.returned is not None
    testable = complete and deterministic and not failure and grad_output != 0
    tested = testable and cells != 0
    wrong = any((each.status == Status.DIFFERS).any() for each in (first, second))
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
        swapped=testable and wrong and judge.agree((second.returned, first.returned)),
        surrogate=deterministic and not failure and _follows_surrogate(judge, field, step),
        structure=plane.structure,
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
    return unless_backward_fails(lambda: plane.backward(s, t, grad_output), lambda: GradientField(plane.forward(s, t)))


def _slopes(ground: PlaneGrid, field: GradientField, grad_output: float, step: float | None) -> tuple[Slopes, Slopes]:
    """The slopes along both axes."""
    first, second = (
        ground.slopes(which, returned / grad_output if returned is not None and grad_output else None, step)
        for which, returned in enumerate(field.both)
    )
    return first, second


def _component(
    judge: PlaneJudge, plane: Plane, axis: int, returned: Array | None, exact: Array | None, deterministic: bool
) -> GradientComponent:
    numerical = judge.numerical(axis)
    lost, status = np.zeros(numerical.size), np.full(numerical.size, Status.GAP, np.int8)
    if returned is not None and exact is not None and exact is not returned:
        lost = np.minimum(np.nan_to_num(np.abs(returned - exact), posinf=0.0), judge.tolerance(axis).atol)
    allowed = judge.allowed(axis, lost)
    if returned is not None:
        status[:] = judge.statuses(axis, returned, allowed) if deterministic else Status.UNDECIDED
        status = judge.with_subgradients(axis, status, returned)
        if deterministic:
            look_closely(judge, plane, axis, status, returned)
    leeway = allowed.leeway(numerical, error_band(judge.slopes[axis].error, judge.grad_output))
    return GradientComponent(returned, numerical, leeway.total, status)


def _follows_surrogate(judge: PlaneJudge, field: GradientField, step: float | None) -> bool:
    """Whether what was returned is the gradient of the op's surrogate."""
    ground, grad_output = judge.ground, judge.grad_output
    plane = ground.plane
    call, other = (plane.along.op.surrogate_for(each.wrt, grad_output) for each in (plane.along, plane.across))
    if call is None or call is not other or grad_output == 0:
        return False
    along, across = (replace(each, call=call) for each in (plane.along, plane.across))
    try:
        meant = batched_plane(along, across, ground.x, ground.y, grad_output)
        ground = replace(ground, plane=meant, values=meant.forward(*ground.points))
        slopes = _slopes(ground, field, grad_output, step)
    except FunctionFailed:
        return False
    return replace(judge, ground=ground, slopes=slopes).agree(field.both)
