"""The answers of the views without a file of their own: from ``area`` to ``descent``."""

from typing import Literal

from typing_extensions import ReadOnly, TypedDict

from .section import Ends, FindingRecord, NumberColumn, ViewRecord


class AreaColumnsRecord(TypedDict):
    """One number for each cell. ``allowed`` is what the residual, rise − area, may be."""

    left: list[float]
    right: list[float]
    rise: NumberColumn
    area: NumberColumn
    residual: NumberColumn
    allowed: NumberColumn
    status: list[int]


class AreaRecord(ViewRecord):
    """What forward rises by between neighbouring x, against the area under what backward returned there."""

    view: ReadOnly[Literal["area"]]
    sentence: str
    statuses: list[str]
    intervals: list[Ends]


class MapColumnsRecord(TypedDict):
    """``ratio`` is grad_input / grad_output row by row, one row for each ``grad_output``."""

    x: list[float]
    grad_output: list[float]
    ratio: NumberColumn


class MapRecord(ViewRecord):
    """What backward returns for many grad_output: the same ratio for all of them, where it is linear."""

    view: ReadOnly[Literal["map"]]
    sentence: str
    shape: tuple[int, int]
    findings: list[FindingRecord]


class LossRecord(TypedDict):
    """Units in the last place of the dtype: the median, the most, and where that is."""

    median: float
    max: float
    x: float


class SupportRecord(TypedDict):
    """One dtype on one device, compared with the reference, the row marked ``yardstick``.

    ``overflow``: the first x to the left and to the right from which on forward is no longer finite.
    """

    dtype: str
    device: str
    supported: bool
    message: str
    yardstick: bool
    forward_ulp: LossRecord | None
    gradient_ulp: LossRecord | None
    overflow: tuple[float | None, float | None]
    nan_gradients: int
    infinite_gradients: int
    computes_in: str | None


class ComplexRecord(TypedDict):
    """How backward treats complex numbers."""

    verdict: str
    sentence: str


class PrecisionColumnsRecord(TypedDict):
    """One number for each x; further columns are the errors in units in the last place, ``forward_float32``."""

    x: list[float]


class PrecisionRecord(ViewRecord):
    """The dtypes and devices side by side; the columns are errors in units in the last place, ``forward_float32``."""

    view: ReadOnly[Literal["precision"]]
    sentence: str
    rows: list[SupportRecord]
    complex: ComplexRecord | None


class WideColumnsRecord(TypedDict):
    """One number for each x over all that the dtype can hold. Gradients are grad_input."""

    x: list[float]
    forward: NumberColumn
    analytical: NumberColumn
    numerical: NumberColumn
    error: NumberColumn
    status: list[int]


class WideRecord(ViewRecord):
    """All numbers that the dtype can hold: how far was looked, and where backward differs."""

    view: ReadOnly[Literal["wide"]]
    sentence: str
    statuses: list[str]
    reach: Ends | None
    finite: Ends | None
    intervals: list[Ends]


class BestRecord(TypedDict):
    """The slope of forward, and the bound of its error."""

    value: float | None
    error: float | None


class LeastRecord(TypedDict):
    """The step whose central difference has the least error."""

    step: float
    error: float | None


class StepColumnsRecord(TypedDict):
    """One number for each step: the errors of the differences, what they consist of, and Taylor's remainder."""

    step: list[float]
    central: NumberColumn
    left: NumberColumn
    right: NumberColumn
    truncation: NumberColumn
    rounding: NumberColumn
    taylor: NumberColumn


class StepRecord(ViewRecord):
    """The differences of forward at one x, with steps of every size. All slopes are those of forward itself."""

    view: ReadOnly[Literal["step"]]
    sentence: str
    at: float
    kind: str | None
    best: BestRecord | None
    analytical: float | None
    left: float | None
    right: float | None
    central_order: float | None
    rounding: float | None
    chosen: list[float]
    least: LeastRecord | None
    taylor_order: float | None


class CheckRecord(TypedDict):
    """One check: what was seen, what torch made of it, and what to do. ``line`` counts in the source of the page.

    ``element`` is the element of the inputs that it was seen in, empty where it is not one. ``recipe`` is the call that
    it was seen in, empty where that is the one shown.
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


# The check of tensors that take part and were not looked at.
HIDDEN_ID = "HIDDEN-INPUT"
# Errors by which a gradient is wrong.
WRONG_GRADIENT_IDS = ("GRADIENT", "SWAPPED", "GRAD-NONE", "OTHER-CALLS")


class BadgeRecord(TypedDict):
    """Whether a part of torch takes the Function: ``no`` is a refusal, ``wrong`` other numbers."""

    name: str
    state: Literal["yes", "no", "wrong", "unknown"]
    sentence: str


class RawRecord(TypedDict):
    """What backward returned for one argument of forward, beside what the engine delivered."""

    input: str
    shape: str
    returned: str
    returned_dtype: str
    delivered: str
    delivered_dtype: str


class ContractColumnsRecord(TypedDict):
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
    recipe: list[str]


class ContractRecord(ViewRecord):
    """What autograd expects of a Function and says nothing about, each put to one working call.

    ``note`` is the stable name of the gravest breach, as ``saved-for-nothing``, or ``solved``. ``tried`` says with what
    numbers a Function of one number was called; empty where the shapes tell.
    """

    view: ReadOnly[Literal["contract"]]
    note: str
    sentence: str
    checks: list[CheckRecord]
    badges: list[BadgeRecord]
    raw: list[RawRecord]
    tried: str


class CourseRecord(TypedDict):
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


class LandscapeRecord(TypedDict):
    """Where a single number moves: forward along it, or the loss where the output has several elements.

    ``returned`` and ``true`` are the heights of the two descents, step by step.
    """

    of: Literal["forward", "loss"]
    x: list[float]
    y: NumberColumn
    returned: NumberColumn
    true: NumberColumn


class DescentColumnsRecord(TypedDict):
    """One number for each step, by what backward returned and by the true derivative; further ones for each element."""

    step: list[float]
    loss: NumberColumn
    true_loss: NumberColumn


class DescentRecord(ViewRecord):
    """Gradient descent with what backward returns (``returned``) and with the true derivative (``true``).

    The columns have one number for each step: ``step``, ``loss``, ``true_loss``, and for every element that moves
    ``position``, ``gradient``, ``true_position`` and ``true_gradient``, followed by its index (``position_0_3``)
    where there are several. ``shape`` is that of what moves, empty for a single number.
    """

    view: ReadOnly[Literal["descent"]]
    sentence: str
    shape: list[int]
    lr: float | None
    steps: int | None
    goal: list[float]
    at: float | None
    random: bool
    bent: bool
    returned: CourseRecord | None
    true: CourseRecord | None
    landscape: LandscapeRecord | None
