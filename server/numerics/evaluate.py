"""A section looked at: forward, analytical and numerical gradient, and what the surrogate says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch

from .area import Area, area_check
from .curve import Curve, inside, measured, second_look
from .differences import Kind
from .failure import Failure, FunctionFailed
from .grid import Grid, Rows, rows
from .noise import Array, largest, relative_precision
from .section import Returned, Section
from .special import SpecialPoint, special_points
from .structure import arranged, structure
from .tolerance import chosen

# With so many points a kink stands out from what is only curved.
FINE_ENOUGH = 401

# Beside a pole the steepest percent of the slopes says nothing of the others.
BUT_THE_STEEPEST = 0.99

# Asked twice, a forward that is no game of chance answers the same to this share.
STEADY = 1e-5
# The other grad_output that backward is asked with, and the last places it may lose.
ANOTHER = -2.0
PLACES = 64.0


@dataclass(frozen=True)
class Evaluation:
    """What was measured of one section. All arrays have one element a row; gradients are ``grad_input``.

    ``forward`` holds the values in the chosen dtype, ``analytical`` what backward returned for
    ``grad_output`` (None where nothing is returned), ``numerical`` the forward in double precision with
    its slopes, not yet multiplied by ``grad_output``. ``in_sight`` is the largest ``grad_input`` that forward or its
    surrogate calls for, ``area`` what lies between the rows. ``special`` are the kinks, jumps and poles that
    were located. ``returned_none`` says that backward returned None,
    and ``failure`` that it raised.
    """

    rows: Rows
    grid: Grid
    grad_output: float
    forward: Array
    analytical: Array | None
    numerical: Curve
    surrogate: Curve | None
    in_sight: float
    area: Area | None
    special: tuple[SpecialPoint, ...]
    structure: str
    dtype: torch.dtype
    numerical_dtype: torch.dtype
    numerical_device: str
    returned_none: bool
    follows_sign: bool
    steady: bool
    proportional: bool
    failure: Failure | None = None


@np.errstate(all="ignore")  # what overflows or is no number is told by the rows where it is
def evaluate(section: Section, grid: Grid, grad_output: float = 1.0, step: float | None = None) -> Evaluation:
    """Look at ``section`` on ``grid``; the differences start at ``step``, chosen if None.

    Raises ``FunctionFailed`` where forward fails; a failing backward or surrogate is reported in ``failure``.
    """
    x = np.unique(section.snap(grid.points()))
    section = arranged(section, x, grad_output)
    reference = reference_of(section, x, grad_output)
    y = reference.forward(x)
    precision = relative_precision(inside(reference, x), x, y)
    found = tuple(_widened(each, section, grid) for each in _found(reference, grid, x, y, precision))
    returned, failure = _returned(section, x, y, grad_output)
    at, values = rows(x, found, _edges(section, x, returned.grad_input, found, grad_output)), y
    if at.x is not x:
        values = reference.forward(at.x)
        returned, failure = _returned(section, at.x, values, grad_output)
    numerical = measured(reference, at, values, grid.span, step, precision)
    numerical = _without_gaps(second_look(reference, at, numerical, returned.grad_input, grad_output), at)
    surrogate, unlike = _surrogate(section, at, grid.span, returned.grad_input, grad_output, step)
    in_sight = abs(grad_output) * _steepest(numerical, surrogate, found, returned.values)
    doubt = _doubt(at, found) * in_sight
    area = area_check(section, at, returned, values, grad_output, chosen(in_sight, section.dtype), doubt)
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
        area=area,
        special=found,
        structure=structure(section),
        dtype=section.dtype,
        numerical_dtype=reference.dtype,
        numerical_device=reference.device,
        follows_sign=section.op.follows_sign,
        steady=_steady(reference, x, y),
        proportional=failure is not None or _proportional(section, at, returned, grad_output),
        failure=failure or unlike,
    )


def _steepest(numerical: Curve, surrogate: Curve | None, found: tuple[SpecialPoint, ...], forward: Array) -> float:
    """The largest slope that forward or its surrogate has, but for the steepest percent where there is a pole."""
    broken = any(each.kind == "pole" for each in found) or not np.isfinite(forward).all()
    share = BUT_THE_STEEPEST if broken else 1.0
    steepest = largest(numerical.slopes.value, share)
    return steepest if surrogate is None else max(steepest, largest(surrogate.slopes.value, share))


def _doubt(at: Rows, found: tuple[SpecialPoint, ...]) -> Array:
    """How far each row may be from the kink that it stands for."""
    doubt = np.zeros(at.x.size)
    for each in found:
        if each.kind in ("kink", "cusp"):
            doubt[np.searchsorted(at.x, each.x)] = 2 * (each.right - each.left)
    return doubt


def _without_gaps(curve: Curve, at: Rows) -> Curve:
    """The curve with no slope in the gap of a jump."""
    if not at.gap.any():
        return curve
    value = np.where(at.gap, np.nan, curve.slopes.value)
    kind = np.where(at.gap, Kind.JUMP, curve.slopes.kind).astype(np.int8)
    return replace(curve, slopes=replace(curve.slopes, value=value, kind=kind))


def _steady(section: Section, x: Array, y: Array) -> bool:
    """Whether forward, asked again, answers the same, but for the last places in which a device may differ."""
    again = section.forward(x)
    return np.allclose(again, y, rtol=STEADY, atol=STEADY * largest(y), equal_nan=True)


def _proportional(section: Section, at: Rows, returned: Returned, grad_output: float) -> bool:
    """Whether backward returns for another ``grad_output``, negative and larger, that many times as much."""
    expected = returned.grad_input
    other = ANOTHER * grad_output
    if expected is None or not grad_output or abs(other) > torch.finfo(section.dtype).max:
        return True
    try:
        found = section.backward(at.x, other).grad_input
    except FunctionFailed:
        return False
    if found is None:
        return False
    fine = np.isfinite(expected) & np.isfinite(found)
    places = PLACES * torch.finfo(section.dtype).eps
    off = np.abs(found - ANOTHER * expected)[fine]
    return bool((off <= places * (np.abs(found[fine]) + largest(found[fine]))).all())


def _returned(section: Section, x: Array, values: Array, grad_output: float) -> tuple[Returned, Failure | None]:
    try:
        return section.backward(x, grad_output), None
    except FunctionFailed as error:
        if error.failure.phase == "forward":
            raise
        return Returned(values, None, False), error.failure


def reference_of(section: Section, x: Array, grad_output: float = 1.0) -> Section:
    """The section in double precision on the CPU, or as it is where the Function refuses that."""
    double = section.at(torch.float64, "cpu")
    if double == section:
        return section
    double = arranged(double, x, grad_output)
    try:
        double.forward(x[[0, -1]])
    except FunctionFailed:
        return section
    return double


def _found(section: Section, grid: Grid, x: Array, y: Array, precision: float) -> tuple[SpecialPoint, ...]:
    """The special points, looked for on a finer grid where the one asked for is coarse and looking is cheap."""
    if x.size < FINE_ENOUGH and section.stacked:
        x = Grid(grid.start, grid.stop, FINE_ENOUGH).points()
        y = section.forward(x)
    return special_points(inside(section, x), x, y, precision)


def _edges(
    section: Section, x: Array, analytical: Array | None, known: tuple[SpecialPoint, ...], grad_output: float
) -> tuple[SpecialPoint, ...]:
    """The places where what backward returned jumps, and forward does nothing special."""
    if analytical is None:
        return ()

    def gradient(t: Array) -> Array:
        returned = section.backward(section.snap(np.clip(t, x[0], x[-1])), grad_output)
        return np.zeros(t.shape) if returned.grad_input is None else returned.grad_input

    # A gradient that leaps beyond all it is elsewhere is at a pole, and nothing is learnt so near to it.
    most = largest(analytical)
    try:
        return tuple(
            each
            for each in special_points(gradient, x, analytical, torch.finfo(section.dtype).eps / 2, known)
            if each.kind == "jump" and (np.abs(gradient(np.array([each.left, each.right]))) <= most).all()
        )
    except FunctionFailed:
        return ()


def _widened(found: SpecialPoint, section: Section, grid: Grid) -> SpecialPoint:
    """The special point between two numbers that the section's dtype can tell apart."""
    if section.dtype == torch.float64:
        return found
    apart = torch.finfo(section.dtype).eps * max(abs(found.x), grid.span / grid.count)
    left, right = section.snap(np.array([found.x - apart, found.x + apart]))
    return replace(found, left=float(left), right=float(right))


def _surrogate(
    section: Section, at: Rows, span: float, analytical: Array | None, grad_output: float, step: float | None
) -> tuple[Curve | None, Failure | None]:
    op = section.op
    if op.surrogate is None or section.sweeps_parameter:
        return None, None
    call = partial(op.surrogate, grad_output=grad_output) if op.follows_sign else op.surrogate
    meant = replace(section, call=call, dtype=torch.float64, device="cpu")
    try:
        meant = arranged(meant, at.x)
        curve = measured(meant, at, meant.forward(at.x), span, step)
        return second_look(meant, at, curve, analytical, grad_output), None
    except FunctionFailed as error:
        return None, error.failure
