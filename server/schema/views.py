"""The JSON documents of the views ``area``, ``map``, ``precision``, ``wide`` and ``step``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .section import FindingSchema, IntervalSchema, NumbersSchema, ViewSchema


@dataclass(frozen=True)
class AreaColumnsSchema:
    """One number for each cell. ``allowed`` is what the residual, rise − area, may be."""

    left: list[float]
    right: list[float]
    rise: NumbersSchema
    area: NumbersSchema
    residual: NumbersSchema
    allowed: NumbersSchema
    status: list[int]


@dataclass(frozen=True)
class AreaSchema(ViewSchema):
    """What forward rises by between neighbouring x, against the area under what backward returned there."""

    view: Literal["area"]
    sentence: str
    statuses: list[str]
    intervals: list[IntervalSchema]
    columns: AreaColumnsSchema


@dataclass(frozen=True)
class MapColumnsSchema:
    """``ratio`` is grad_input / grad_output row by row, one row for each ``grad_output``."""

    x: list[float]
    grad_output: list[float]
    ratio: NumbersSchema


@dataclass(frozen=True)
class MapSchema(ViewSchema):
    """What backward returns for many grad_output: the same ratio for all of them, where it is linear."""

    view: Literal["map"]
    sentence: str
    shape: tuple[int, int]
    findings: list[FindingSchema]
    columns: MapColumnsSchema


@dataclass(frozen=True)
class LossSchema:
    """Units in the last place of the dtype: the median, the most, and where that is."""

    median: float
    max: float
    x: float


@dataclass(frozen=True)
class SupportSchema:
    """One dtype on one device, held against the ``yardstick``.

    ``overflow``: the first x to the left and to the right from which on forward is no longer finite.
    """

    dtype: str
    device: str
    supported: bool
    message: str
    yardstick: bool
    forward_ulp: LossSchema | None
    gradient_ulp: LossSchema | None
    overflow: tuple[float | None, float | None]
    nan_gradients: int
    infinite_gradients: int
    computes_in: str | None


@dataclass(frozen=True)
class ComplexSchema:
    """How backward treats complex numbers."""

    verdict: str
    sentence: str


@dataclass(frozen=True)
class PrecisionSchema(ViewSchema):
    """The dtypes and devices side by side; the columns are errors in units in the last place, ``forward_float32``."""

    view: Literal["precision"]
    sentence: str
    rows: list[SupportSchema]
    complex: ComplexSchema | None
    columns: dict[str, NumbersSchema]


@dataclass(frozen=True)
class WideColumnsSchema:
    """One number for each x over all that the dtype can hold. Gradients are grad_input."""

    x: list[float]
    forward: NumbersSchema
    analytical: NumbersSchema
    numerical: NumbersSchema
    error: NumbersSchema
    status: list[int]


@dataclass(frozen=True)
class WideSchema(ViewSchema):
    """All numbers that the dtype can hold: how far was looked, and where backward differs."""

    view: Literal["wide"]
    sentence: str
    statuses: list[str]
    reach: IntervalSchema | None
    finite: IntervalSchema | None
    intervals: list[IntervalSchema]
    columns: WideColumnsSchema


@dataclass(frozen=True)
class BestSchema:
    """The slope of forward, and the bound of its error."""

    value: float | None
    error: float | None


@dataclass(frozen=True)
class LeastSchema:
    """The step whose central difference has the least error."""

    step: float
    error: float | None


@dataclass(frozen=True)
class StepColumnsSchema:
    """One number for each step: the errors of the differences, what they consist of, and Taylor's remainder."""

    step: list[float]
    central: NumbersSchema
    left: NumbersSchema
    right: NumbersSchema
    truncation: NumbersSchema
    rounding: NumbersSchema
    taylor: NumbersSchema


@dataclass(frozen=True)
class StepSchema(ViewSchema):
    """The differences of forward at one x, with steps of every size. All slopes are those of forward itself."""

    view: Literal["step"]
    sentence: str
    at: float
    kind: str | None
    best: BestSchema | None
    analytical: float | None
    left: float | None
    right: float | None
    central_order: float | None
    rounding: float | None
    chosen: list[float]
    least: LeastSchema | None
    taylor_order: float | None
    columns: StepColumnsSchema
