"""The JSON documents of the views without a file of their own: from ``area`` to ``descent``."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from .section import FindingSchema, IntervalSchema, NumbersSchema, ViewSchema


class AreaColumnsSchema(BaseModel):
    """One number for each cell. ``allowed`` is what the residual, rise − area, may be."""

    left: list[float]
    right: list[float]
    rise: NumbersSchema
    area: NumbersSchema
    residual: NumbersSchema
    allowed: NumbersSchema
    status: list[int]


class AreaSchema(ViewSchema):
    """What forward rises by between neighbouring x, against the area under what backward returned there."""

    view: Literal["area"]
    sentence: str
    statuses: list[str]
    intervals: list[IntervalSchema]
    columns: AreaColumnsSchema


class MapColumnsSchema(BaseModel):
    """``ratio`` is grad_input / grad_output row by row, one row for each ``grad_output``."""

    x: list[float]
    grad_output: list[float]
    ratio: NumbersSchema


class MapSchema(ViewSchema):
    """What backward returns for many grad_output: the same ratio for all of them, where it is linear."""

    view: Literal["map"]
    sentence: str
    shape: tuple[int, int]
    findings: list[FindingSchema]
    columns: MapColumnsSchema


class LossSchema(BaseModel):
    """Units in the last place of the dtype: the median, the most, and where that is."""

    median: float
    max: float
    x: float


class SupportSchema(BaseModel):
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


class ComplexSchema(BaseModel):
    """How backward treats complex numbers."""

    verdict: str
    sentence: str


class PrecisionSchema(ViewSchema):
    """The dtypes and devices side by side; the columns are errors in units in the last place, ``forward_float32``."""

    view: Literal["precision"]
    sentence: str
    rows: list[SupportSchema]
    complex: ComplexSchema | None
    columns: dict[str, NumbersSchema]


class WideColumnsSchema(BaseModel):
    """One number for each x over all that the dtype can hold. Gradients are grad_input."""

    x: list[float]
    forward: NumbersSchema
    analytical: NumbersSchema
    numerical: NumbersSchema
    error: NumbersSchema
    status: list[int]


class WideSchema(ViewSchema):
    """All numbers that the dtype can hold: how far was looked, and where backward differs."""

    view: Literal["wide"]
    sentence: str
    statuses: list[str]
    reach: IntervalSchema | None
    finite: IntervalSchema | None
    intervals: list[IntervalSchema]
    columns: WideColumnsSchema


class BestSchema(BaseModel):
    """The slope of forward, and the bound of its error."""

    value: float | None
    error: float | None


class LeastSchema(BaseModel):
    """The step whose central difference has the least error."""

    step: float
    error: float | None


class StepColumnsSchema(BaseModel):
    """One number for each step: the errors of the differences, what they consist of, and Taylor's remainder."""

    step: list[float]
    central: NumbersSchema
    left: NumbersSchema
    right: NumbersSchema
    truncation: NumbersSchema
    rounding: NumbersSchema
    taylor: NumbersSchema


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


class CheckSchema(BaseModel):
    """One check: what was seen, what torch made of it, and what to do. ``line`` counts in the source of the page.

    ``element`` is what of the inputs it was seen in, empty where that is no one element, and ``recipe`` the call it was
    seen in, empty where that is the one at hand.
    """

    id: str
    family: str
    level: Literal["error", "warning", "note", "fine"]
    title: str
    seen: str
    torch: str
    advice: str
    line: int | None
    document: str
    element: str
    recipe: str


class BadgeSchema(BaseModel):
    """Whether a part of torch takes the Function: ``no`` is a refusal, ``wrong`` other numbers."""

    name: str
    state: Literal["yes", "no", "wrong", "unknown"]
    sentence: str


class RawSchema(BaseModel):
    """What backward returned for one argument of forward, beside what the engine delivered."""

    input: str
    shape: str
    returned: str
    returned_dtype: str
    delivered: str
    delivered_dtype: str


class ContractColumnsSchema(BaseModel):
    """The checks, one value a row."""

    id: list[str]
    family: list[str]
    level: list[str]
    title: list[str]
    seen: list[str]
    torch: list[str]
    advice: list[str]
    line: list[int | None]
    document: list[str]
    element: list[str]


class ContractSchema(ViewSchema):
    """What autograd expects of a Function and says nothing about, each put to one working call.

    ``tried`` says with what numbers a Function of one number was called; empty where the shapes tell.
    """

    view: Literal["contract"]
    sentence: str
    checks: list[CheckSchema]
    badges: list[BadgeSchema]
    raw: list[RawSchema]
    tried: str
    columns: ContractColumnsSchema


class CourseSchema(BaseModel):
    """How one descent ended, after how many steps, and the loss at its start and at its end."""

    ending: Literal[
        "there",
        "reached",
        "stays",
        "stuck",
        "small",
        "settles",
        "falls",
        "rises",
        "level",
        "oscillates",
        "diverges",
        "infinite",
        "nan",
        "bare",
        "failed",
    ]
    steps: int
    first: float | None
    last: float | None
    late: bool


class LandscapeSchema(BaseModel):
    """Where a single number moves: forward along it, or the loss where the output has several elements.

    ``returned`` and ``true`` are the heights of the two descents, step by step.
    """

    of: Literal["forward", "loss"]
    x: list[float]
    y: NumbersSchema
    returned: NumbersSchema
    true: NumbersSchema


class DescentSchema(ViewSchema):
    """Gradient descent with what backward returns (``returned``) and with the true derivative (``true``).

    The columns have one number for each step: ``step``, ``loss``, ``true_loss``, and for every element that moves
    ``position``, ``gradient``, ``true_position`` and ``true_gradient``, followed by its index (``position_0_3``)
    where there are several. ``shape`` is that of what moves, empty for a single number.
    """

    view: Literal["descent"]
    sentence: str
    shape: list[int]
    lr: float | None
    steps: int | None
    goal: list[float]
    at: float | None
    random: bool
    bent: bool
    returned: CourseSchema | None
    true: CourseSchema | None
    landscape: LandscapeSchema | None
    columns: dict[str, NumbersSchema]
