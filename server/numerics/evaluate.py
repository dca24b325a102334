"""A section looked at: forward, analytical and numerical gradient, and what the surrogate says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from inspect import signature
from typing import Any

import numpy as np
import torch

from ...ops import Op
from .differences import BOUNDS, Kind, Slopes, differentiate, looked_at_again
from .failure import Failure, FunctionFailed
from .grid import Grid, Rows, rows
from .noise import Array, relative_precision
from .section import Returned, Section
from .singularity import Singularity, singularities
from .structure import arranged, structure

# With so many points a kink stands out from what is only curved.
FINE_ENOUGH = 401
# Up to so many points that contradict backward, by more than this, are measured twice.
LONE = 32
LONE_TOLERANCE = 1e-13


@dataclass(frozen=True)
class Curve:
    """The values of a function on the rows of a grid, and its slopes by differences."""

    values: Array
    slopes: Slopes


@dataclass(frozen=True)
class Evaluation:
    """What was measured of one section. All arrays have one element a row; gradients are ``grad_input``.

    ``forward`` holds the values in the chosen dtype, ``analytical`` what backward returned for
    ``grad_output`` (None where nothing is returned), ``numerical`` the forward in double precision with
    its slopes, not yet multiplied by ``grad_output``. ``precision`` is the epsilon of the chosen dtype.
    ``returned_none`` says that backward returned None,
    and ``failure`` that it raised.
    """

    rows: Rows
    grid: Grid
    grad_output: float
    forward: Array
    analytical: Array | None
    numerical: Curve
    surrogate: Curve | None
    singularities: tuple[Singularity, ...]
    structure: str
    precision: float
    numerical_dtype: torch.dtype
    returned_none: bool
    failure: Failure | None = None


def evaluate(section: Section, grid: Grid, grad_output: float = 1.0, step: float | None = None) -> Evaluation:
    """Look at ``section`` on ``grid``; the differences start at ``step``, chosen if None.

    Raises ``FunctionFailed`` where forward fails; a failing backward is reported in ``failure``.
    """
    section = arranged(section)
    reference = _reference(section, grid)
    x = np.unique(section.snap(grid.points()))
    y = reference.forward(x)
    precision = relative_precision(reference.forward, x, y)
    found = tuple(_widened(each, section, grid) for each in _found(reference, grid, x, y, precision))
    at = rows(x, found)
    values = reference.forward(at.x) if found else y
    returned, failure = _returned(section, at, values, grad_output)
    numerical = _curve(reference, at, values, grid.span, step, precision)
    return Evaluation(
        rows=at,
        grid=grid,
        grad_output=grad_output,
        forward=returned.values,
        analytical=returned.grad_input,
        returned_none=returned.none,
        numerical=_second_look(reference, at, numerical, returned.grad_input, grad_output),
        surrogate=_surrogate(section, at, grid.span, returned.grad_input, grad_output, step),
        singularities=found,
        structure=structure(section),
        precision=torch.finfo(section.dtype).eps,
        numerical_dtype=reference.dtype,
        failure=failure,
    )


def _returned(section: Section, at: Rows, values: Array, grad_output: float) -> tuple[Returned, Failure | None]:
    try:
        return section.backward(at.x, grad_output), None
    except FunctionFailed as error:
        if error.failure.phase == "forward":
            raise
        return Returned(values, None, False), error.failure


def _reference(section: Section, grid: Grid) -> Section:
    """The section in double precision on the CPU, or as it is where the Function refuses that."""
    double = arranged(section.at(torch.float64, "cpu"))
    if double == section:
        return section
    try:
        double.forward(np.array([grid.start, grid.stop]))
    except FunctionFailed:
        return section
    return double


def _found(section: Section, grid: Grid, x: Array, y: Array, precision: float) -> tuple[Singularity, ...]:
    """The singularities, looked for on a finer grid where the one asked for is coarse and looking is cheap."""
    if x.size < FINE_ENOUGH and section.stacked:
        x = Grid(grid.start, grid.stop, FINE_ENOUGH).points()
        y = section.forward(x)
    return singularities(section.forward, x, y, precision)


def _widened(found: Singularity, section: Section, grid: Grid) -> Singularity:
    """The singularity between two numbers that the section's dtype can tell apart."""
    if section.dtype == torch.float64:
        return found
    apart = torch.finfo(section.dtype).eps * max(abs(found.x), grid.span / grid.count)
    left, right = section.snap(np.array([found.x - apart, found.x + apart]))
    return replace(found, left=float(left), right=float(right))


def _curve(section: Section, at: Rows, values: Array, span: float, step: float | None, precision: float) -> Curve:
    slopes = differentiate(section.forward, at.x, values, span, step, precision)
    return Curve(values, _one_sided_beside_gaps(slopes, at))


def _one_sided_beside_gaps(slopes: Slopes, at: Rows) -> Slopes:
    """The rows right beside a gap have a slope on their far side only; in the gap there is none."""
    if not at.gap.any():
        return slopes
    value, kind, error = slopes.value.copy(), slopes.kind.copy(), slopes.error.copy()
    for beside, side in ((at.below, slopes.left), (at.above, slopes.right)):
        value[beside] = side[beside]
        kind[beside] = Kind.EDGE
        error[beside] = np.nan
    value[at.gap], kind[at.gap] = np.nan, Kind.JUMP
    return replace(slopes, value=value, kind=kind, error=error)


def _second_look(section: Section, at: Rows, curve: Curve, analytical: Array | None, grad_output: float) -> Curve:
    """The curve with the few points measured again where it seems to contradict backward.

    A whole stretch that differs needs no second witness; a lone point may be a bound too tight.
    """
    if analytical is None or not grad_output:
        return curve
    slopes = curve.slopes
    with np.errstate(invalid="ignore"):
        off = np.abs(analytical / grad_output - slopes.value) > BOUNDS * slopes.error + LONE_TOLERANCE * np.abs(
            slopes.value
        )
    rows = np.flatnonzero(off & (slopes.kind == Kind.SMOOTH))
    if not 0 < rows.size <= LONE:
        return curve
    return Curve(curve.values, looked_at_again(section.forward, at.x, curve.values, slopes, rows))


def _surrogate(
    section: Section, at: Rows, span: float, analytical: Array | None, grad_output: float, step: float | None
) -> Curve | None:
    if section.op.surrogate is None or section.sweeps_parameter:
        return None
    call = _bound(section.op, grad_output)
    ghost = arranged(replace(section, call=call, dtype=torch.float64, device="cpu", stacked=()))
    # The rows beside a jump of forward are ordinary points of its surrogate.
    curve = Curve(values := ghost.forward(at.x), differentiate(ghost.forward, at.x, values, span, step))
    return _second_look(ghost, at, curve, analytical, grad_output)


@lru_cache(maxsize=64)
def _bound(op: Op, grad_output: float) -> Callable[..., Any]:
    """The surrogate for this ``grad_output``; cached, so that its structure is measured once."""
    assert op.surrogate is not None
    if "grad_output" in signature(op.surrogate).parameters:
        return partial(op.surrogate, grad_output=grad_output)
    return op.surrogate
