"""The study of dtypes and devices, and its words: errors in ulps, overflow, NaN gradients, low precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from ...protocol.listed import listed
from ...runtime.arrays import Array
from ...runtime.batching import batched_section
from ...runtime.devices import TORCH_DTYPES, Device, devices
from ...runtime.failure import NOT_REPRESENTABLE, Failure, FunctionFailed, unless_backward_fails
from ...runtime.reference import double_precision
from ...runtime.section import BackwardResult, Section
from ..differentiation.noise import irrational, looks_rounded, relative_precision
from ..formatting.numbers import format_number
from ..sampling.grid import POINTS_ONE_BY_ONE, Grid
from ..sentences.names import complex_inputs
from .complex import ComplexStudy, study_complex

# budget: the points by which an interval is cut in one round, where they share a call and where each needs its own.
_PARTS, _PARTS_ONE_BY_ONE = 64, 4
_MAX_ROUNDS = 32  # budget: the most rounds of the search: next to 0 an interval can be divided for very long
_BITS = {"bfloat16": 8, "float16": 11, "float32": 24}  # unit: the significant bits of what a wider dtype may hide


@dataclass(frozen=True)
class UlpErrors:
    """Errors in units in the last place, one a point, NaN where two values cannot be compared.

    ``median`` and ``max`` sum them up, ``x`` is where the largest is.
    """

    each: Array
    median: float
    max: float
    x: float


def ulp_errors(values: Array | None, true: Array | None, x: Array, dtype: torch.dtype) -> UlpErrors | None:
    """How far the ``values`` at ``x`` are from the ``true`` ones: ½ is as near as the dtype can hold.

    None where no two of them can be compared.
    """
    if values is None or true is None:
        return None
    with np.errstate(all="ignore"):
        each = np.abs(values - true) / ulp_size(true, dtype)
    each[~np.isfinite(each)] = np.nan
    comparable = np.flatnonzero(np.isfinite(each))
    if not comparable.size:
        return None
    row = comparable[each[comparable].argmax()]
    return UlpErrors(each, float(np.median(each[comparable])), float(each[row]), float(x[row]))


def ulp_size(values: Array, dtype: torch.dtype) -> Array:
    """The distance of neighbouring numbers of the dtype at ``values``; among the smallest it no longer shrinks."""
    info = torch.finfo(dtype)
    _, exponent = np.frexp(np.maximum(np.abs(values), info.smallest_normal))
    return np.ldexp(info.eps, exponent - 1)


@dataclass(frozen=True)
class DtypeErrors:
    """One dtype on one device.

    ``failure`` says why the dtype is not supported, in forward or in backward alone; None where it is. ``forward_ulp``
    and ``gradient_ulp`` are the errors of the values and of ``grad_input`` in units in the last place, against double
    precision given the same rounded numbers: against the row marked ``yardstick``. None where they are not known.
    ``overflow`` are the first x to the left and to the right from which on, to the end of the range, forward is
    no finite number although double precision has one or is infinite; None where the range ends before.
    ``nan_gradients`` and ``infinite_gradients`` count the points with such a gradient where forward is finite;
    the former lie within ``nan_between``. ``forward_in`` and ``backward_in`` name the narrower dtype in which
    float64 values were computed.
    """

    dtype: str
    device: str
    failure: Failure | None
    forward_ulp: UlpErrors | None = None
    gradient_ulp: UlpErrors | None = None
    overflow: tuple[float | None, float | None] = (None, None)
    nan_gradients: int = 0
    nan_between: tuple[float, float] | None = None
    infinite_gradients: int = 0
    forward_in: str | None = None
    backward_in: str | None = None
    yardstick: bool = False

    @property
    def supported(self) -> bool:
        """Whether the Function accepts the dtype on the device."""
        return self.failure is None

    @property
    def message(self) -> str:
        """Why it does not."""
        return self.failure.sentence if self.failure else ""

    @property
    def computes_in(self) -> str | None:
        """The narrower dtype in which forward or backward computes."""
        return self.forward_in or self.backward_in


@dataclass(frozen=True)
class DtypeStudy:
    """``rows`` for every dtype on every device, over the points ``x``, and what complex numbers show.

    Each dtype is asked at the numbers nearest to ``x`` that it holds. ``complex`` is None for a parameter, and where an
    input is complex anyway.
    """

    x: Array
    rows: tuple[DtypeErrors, ...]
    complex: ComplexStudy | None


@np.errstate(all="ignore")  # what overflows is counted
def study_dtypes(
    section: Section, grid: Grid, grad_output: float = 1.0, at: tuple[Device, ...] | None = None
) -> DtypeStudy:
    """Evaluate ``section`` on ``grid`` in every dtype of the devices ``at``, by default all there are.

    What a Function refuses is a row with its error. Sections that need a call for each point are asked at
    17 of them.
    """
    x = grid.points()
    if not section.stacked:
        section = batched_section(section, np.unique(section.snap(x)), grad_output)
    if not section.stacked:
        x = x[np.linspace(0, x.size - 1, min(POINTS_ONE_BY_ONE, x.size)).round().astype(np.intp)]
    return DtypeStudy(
        x,
        tuple(_row(section, x, grad_output, dtype, device) for device in at or devices() for dtype in TORCH_DTYPES),
        None if section.sweeps_parameter or complex_inputs(section) else study_complex(section, grid),
    )


def _row(section: Section, x: Array, grad_output: float, name: str, device: Device) -> DtypeErrors:
    reason = _out_of_range(name, x, grad_output) if name in device.dtypes else f"{device.name} has no {name}"
    if reason:
        return DtypeErrors(name, device.kind, Failure("forward", NOT_REPRESENTABLE, reason))
    converted = section.at(TORCH_DTYPES[name], device.kind)
    largest = torch.finfo(converted.dtype).max
    t = converted.snap(np.clip(x, -largest, largest))
    result, failure = _run(converted, t, grad_output)
    if result is None:
        return DtypeErrors(name, device.kind, failure)
    # Double precision is given the rounded numbers: what rounding them does is not the Function's error.
    exact = double_precision(converted)
    true = _run(exact, t, float(converted.snap(np.array([grad_output]))[0]))[0] if exact != converted else result
    meant = (None, None) if true is None or exact == converted else (true.values, true.grad_input)
    gradients, finite = np.zeros(x.size) if result.grad_input is None else result.grad_input, np.isfinite(result.values)
    nan = x[np.isnan(gradients) & finite]
    return DtypeErrors(
        name,
        device.kind,
        failure,
        ulp_errors(result.values, meant[0], x, converted.dtype),
        ulp_errors(result.grad_input, meant[1], x, converted.dtype),
        _overflow(converted, t, result, true),
        nan_gradients=nan.size,
        nan_between=(float(nan[0]), float(nan[-1])) if nan.size else None,
        infinite_gradients=int((np.isinf(gradients) & finite).sum()),
        yardstick=exact == converted,
        **(_computes_in(converted, t, result, grad_output) if name == "float64" else {}),
    )


def _out_of_range(name: str, x: Array, grad_output: float) -> str:
    """What keeps numbers from being asked in the dtype; empty where nothing does."""
    most = torch.finfo(TORCH_DTYPES[name]).max
    if abs(grad_output) > most:
        return f"grad_output {grad_output:g} is more than {name} holds, whose largest number is {most:.5g}"
    if np.abs(x).min() > most:
        return f"the range begins beyond the largest number of {name}, {most:.5g}"
    return ""


def _run(section: Section, x: Array, grad_output: float) -> tuple[BackwardResult | None, Failure | None]:
    """What backward returned, what forward did where that fails, and None where both do, with the first failure."""
    try:
        return unless_backward_fails(
            lambda: section.backward(x, grad_output), lambda: BackwardResult(section.forward(x))
        )
    except FunctionFailed as error:
        return None, error.failure


def _overflow(
    section: Section, x: Array, result: BackwardResult, true: BackwardResult | None
) -> tuple[float | None, float | None]:
    finite = np.isfinite(result.values)
    # In double precision NaN is where the domain ends.
    beyond = np.isinf(result.values) if true is None else ~finite & ~np.isnan(true.values)
    inner = np.flatnonzero(finite)
    if not inner.size or finite.all():
        return None, None
    first, last = int(inner[0]), int(inner[-1])
    return (
        _overflow_point(section, x[first], x[first - 1]) if first > 0 and beyond[:first].all() else None,
        _overflow_point(section, x[last], x[last + 1]) if last + 1 < x.size and beyond[last + 1 :].all() else None,
    )


def _overflow_point(section: Section, inner: float, outer: float) -> float:
    """The number nearest to ``inner`` at which forward is not finite, as at ``outer``."""
    parts = _PARTS if section.stacked else _PARTS_ONE_BY_ONE
    try:
        for _ in range(_MAX_ROUNDS):
            between = section.snap(np.linspace(inner, outer, parts + 2)[1:-1])
            between = between[(between != inner) & (between != outer)]
            if not between.size:
                break
            broken = np.append(~np.isfinite(section.forward(between)), True)
            first = int(broken.argmax())
            inner, outer = (np.concatenate(([inner], between, [outer])))[[first, first + 1]].tolist()
    except FunctionFailed:
        return float(outer)
    return float(outer)


def _computes_in(section: Section, x: Array, result: BackwardResult, grad_output: float) -> dict[str, Any]:
    """The narrower dtypes whose few bits the values and the gradients for grad_output 1 carry."""
    gradient = partial(section.gradient, grad_output=1.0)

    def narrow(function: Callable[[Array], Array], values: Array) -> str | None:
        if not looks_rounded(values):
            return None
        try:
            bits = -math.log2(relative_precision(values, function(irrational(x))))
        except FunctionFailed:
            return None
        return next((name for name, most in _BITS.items() if bits <= most), None)

    narrower = {"forward_in": narrow(section.forward, result.values)}
    if result.grad_input is not None:
        narrower["backward_in"] = narrow(gradient, result.grad_input if grad_output == 1 else gradient(x))
    return narrower


def dtypes_sentence(study: DtypeStudy, wrt: str) -> str:
    """Which dtypes the Function bears, where each ends, what it loses there, and what complex numbers show."""
    several = len({row.device for row in study.rows}) > 1
    named = [(f"{row.dtype} on {row.device}" if several else row.dtype, row) for row in study.rows]
    parts = _narrow_inside(study.rows)
    parts += [
        f"{name} is not available: {row.message.splitlines()[0].rstrip('.')}."
        for name, row in named
        if not row.supported
    ]
    for side, words in ((0, "below"), (1, "above")):
        ends = [(row.overflow[side], name) for name, row in named]
        overflows = [f"{wrt} = {format_number(end)} in {name}" for end, name in ends if end is not None]
        if overflows:
            parts.append(f"forward overflows {words} {listed(overflows)}.")
    faults = [(what, name) for name, row in named for what in _nonfinite_phrases(row, wrt)]
    supported = sum(row.supported for _, row in named)
    for what in dict.fromkeys(what for what, _ in faults):
        some = [name for each, name in faults if each == what]
        parts.append(f"In {'every dtype' if 1 < len(some) == supported else listed(some)} {what}.")
    parts += _accuracy([(name, row.gradient_ulp.max) for name, row in named if row.gradient_ulp])
    if study.complex is not None:
        parts.append(study.complex.sentence)
    return " ".join(parts)


def _narrow_inside(rows: tuple[DtypeErrors, ...]) -> list[str]:
    row = next((each for each in rows if each.forward_in or each.backward_in), None)
    if row is None:
        return []
    parts = [
        f"{part} computes in {narrow}"
        for part, narrow in (("forward", row.forward_in), ("backward", row.backward_in))
        if narrow
    ]
    return [f"Given {row.dtype}, {listed(parts)} inside, so its numbers have no more digits than that."]


def _nonfinite_phrases(row: DtypeErrors, wrt: str) -> list[str]:
    phrases = []
    if row.nan_between:
        low, high = (format_number(each) for each in row.nan_between)
        where = f"at {wrt} = {low}" if low == high else f"for {row.nan_gradients} points from {wrt} = {low} to {high}"
        phrases.append(f"backward returns NaN {where}, where forward is finite")
    if row.infinite_gradients:
        many = "a point" if row.infinite_gradients == 1 else f"{row.infinite_gradients} points"
        phrases.append(f"the gradient is infinite at {many} where forward is finite")
    return phrases


def _accuracy(errors: list[tuple[str, float]]) -> list[str]:
    known = [(name, float(f"{error:.2g}")) for name, error in errors]
    exact = [name for name, error in known if not error]
    inexact = [f"{format_number(error)} in {name}" for name, error in known if error]
    if not known:
        return []
    if not inexact:
        return [f"The gradient is exact in {listed(exact)}: no rounding error."]
    first = f"exact in {listed(exact)}, and " if exact else ""
    return [f"The gradient is {first}off by at most {listed(inexact)}, in units in the last place."]
