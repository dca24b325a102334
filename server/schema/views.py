"""The headers of the views beside the curves: all that was asked, what was found, and a sentence on it.

What was measured is sent by its own fields, as ``Sent``; only where some of these stay here, its record is named.
"""

from typing import Any, Literal

from typing_extensions import ReadOnly, TypedDict

from .section import Ends, FindingRecord, ViewRecord

Sent = dict[str, Any]  # something measured, by the names of its fields


class LookRecord(ViewRecord):
    """A view beside the curves; each has further members, as the documents of its own say."""

    sentence: str


class LookDocument(LookRecord):
    """One view of one section, with its canonical address and its columns; what else it has depends on the view."""

    address: str
    columns: dict[str, list[Any] | None]


class AreaRecord(LookRecord):
    """What forward rises by between neighbouring x, against the area under what backward returned there.

    The columns have one row for each cell; ``allowed`` is what the residual, rise − area, may be.
    """

    view: ReadOnly[Literal["area"]]
    statuses: list[str]
    intervals: list[Ends]


class MapRecord(LookRecord):
    """What backward returns for many grad_output: the same ratio for all of them, where it is linear.

    ``ratio`` is grad_input / grad_output row by row, one row for each ``grad_output``.
    """

    view: ReadOnly[Literal["map"]]
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


class PrecisionRecord(LookRecord):
    """The dtypes and devices side by side; the columns are errors in units in the last place, ``forward_float32``."""

    view: ReadOnly[Literal["precision"]]
    rows: list[SupportRecord]
    complex: ComplexRecord | None


class WideRecord(LookRecord):
    """All numbers that the dtype can hold: how far was looked, and where backward differs. Gradients are grad_input."""

    view: ReadOnly[Literal["wide"]]
    statuses: list[str]
    reach: Ends | None
    finite: Ends | None
    intervals: list[Ends]


class StepRecord(LookRecord):
    """The differences of forward at one x, with steps of every size. All slopes are those of forward itself.

    ``best`` is the slope with the bound of its error, ``least`` the step whose central difference has the least error.
    The columns have a row for each step: errors of the differences, what they consist of, and Taylor's remainder.
    """

    view: ReadOnly[Literal["step"]]
    at: float
    kind: str | None
    best: Sent | None
    analytical: float | None
    left: float | None
    right: float | None
    central_order: float | None
    rounding: float | None
    chosen: list[float]
    least: Sent | None
    taylor_order: float | None


class JacobianCellRecord(TypedDict):
    """One cell by the names of its elements, and what differences and backward say of it."""

    of: str
    wrt: str
    numerical: float | None
    returned: float | None


class ElsewhereRecord(TypedDict):
    """A quicker check of all cells of a Jacobian that is larger than the block: there may be ``more`` that differ."""

    cells: int
    judged: int
    differs: int
    more: bool
    worst: JacobianCellRecord | None


class InfluenceLossRecord(TypedDict):
    """A loss on some outputs: how each is linked to each input, row by row of one output, and what arrives there."""

    name: str
    outputs: list[str]
    links: list[list[Literal["arrives", "dropped", "unfounded", "nothing", "unknown"]]]
    returned: list[str]
    sentence: str
    failure: str | None


class InfluenceRecord(TypedDict):
    """Which input reaches which output, and at which a gradient arrives."""

    inputs: list[str]
    outputs: list[str]
    losses: list[InfluenceLossRecord]


class JacobianRecord(LookRecord):
    """Every element of one output by every element of one input, of large ones a block, per unit of grad_output.

    ``rows`` and ``across`` are neighbouring elements of a tensor, ``count`` of them from ``first`` on. The columns have
    a row for each cell; ``row`` and ``column`` are flat places in their tensors, ``left`` and ``right`` the slopes on
    either side of a kink. ``tensors`` are outputs and inputs to choose, each with the element to begin with.
    """

    view: ReadOnly[Literal["jacobian"]]
    at: float | None
    rows: Sent | None
    across: Sent | None
    tensors: dict[Literal["of", "wrt"], list[Sent]] | None
    pattern: str
    together: bool
    statuses: list[str]
    differs: int
    designed: bool
    worst: JacobianCellRecord | None
    elsewhere: ElsewhereRecord | None
    influence: InfluenceRecord | None


class RidgesRecord(TypedDict):
    """Points at which forward bends, or jumps."""

    x: list[float]
    y: list[float]
    jump: list[bool]


class SurfaceRecord(LookRecord):
    """Two elements, ``wrt`` and ``wrt2``, at 101 × 101 points at most: forward, and both components of its gradient.

    ``places`` are where the two lie in their tensors, in row-major order; null for a parameter. ``potential`` says
    whether the returned field is the gradient of a function, and of which, ``pairs`` that of other elements. Columns
    are row by row of one ``y``; ``allowed`` is how far ``analytical`` may be from ``numerical``, ``implied`` the line
    integral of what was returned, where that is not the gradient of forward.
    """

    view: ReadOnly[Literal["surface"]]
    wrt2: str | None
    start2: float | None
    stop2: float | None
    structure: str | None
    places: tuple[int | None, int | None]
    shape: tuple[int, int]
    statuses: list[str]
    differs: int
    potential: Sent | None
    pairs: list[Sent]
    ridges: RidgesRecord


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
NO_CAUSE = "Compare what backward returns"  # how the advice of the first of these begins where it knows no cause


class ContractRecord(LookRecord):
    """What autograd expects of a Function and says nothing about, each put to one working call.

    ``note`` is the stable name of the gravest breach, as ``saved-for-nothing``, or ``solved``. ``badges`` say whether a
    part of torch takes the Function (``no`` is a refusal, ``wrong`` other numbers), ``raw`` what backward returned for
    each argument, beside what the engine delivered. ``tried`` says with what numbers a Function of one number was
    called; empty where the shapes tell.
    """

    view: ReadOnly[Literal["contract"]]
    note: str
    checks: list[CheckRecord]
    badges: list[Sent]
    raw: list[Sent]
    tried: str


class ProofRecord(LookRecord):
    """What is proved of backward for every real x of the range, not for some of them.

    On what is proved it differs from grad_output times the slope by no more than ``epsilon`` of the slope at its
    place. ``line`` is the sentence in short, ``meaning`` what it means; ``share`` is that of the range that is
    proved. ``holds_for`` says for which grad_output, ``given`` from which to which where it is a range. It holds
    ``everywhere`` if for every real x beyond the range as well. Of each of the ``stretches`` it is ``known``
    whether it is proved or refuted, a curve may bend or jump there, or nothing is decided. ``witness`` is a box in
    all of which backward and the slope lie in ranges that share no number. All is said of each number of ``wrt2``
    from ``start2`` to ``stop2``, null where nothing is held in a range; a witness is ``at`` one of them. ``boxes``
    were looked at with at most so many ``bits``. ``reason`` is why nothing could be asked, empty where it could.
    ``certificate`` is the text of a file by which anybody can check again what is proved, empty where nothing is.
    ``word`` and ``line`` are empty where forward fails, and where python-flint is not installed; ``holds_for``
    where forward fails.
    """

    view: ReadOnly[Literal["proof"]]
    line: str
    meaning: list[str]
    word: Literal["proved", "refuted", "in part", "nothing", ""]
    share: float
    epsilon: float
    holds_for: Literal["every", "every positive", "every negative", "range", "this", ""]
    given: Ends | None
    wrt2: str | None
    start2: float | None
    stop2: float | None
    everywhere: bool
    stretches: list[Sent]
    witness: Sent | None
    boxes: int
    bits: int
    reason: str
    certificate: str


class NodeRecord(LookRecord):
    """The autograd graph around one call ``at`` one x, and its Functions from inside.

    Each of the ``vertices`` lies in a ``layer``, in a ``row`` that counts across it; ``edges`` lead from one place
    among them to another, with what came ``back``. A value of a Function is its ``kind`` and ``text``; only a tensor
    has a shape and strides. ``more`` of a Function counts what its lists leave out.
    """

    view: ReadOnly[Literal["node"]]
    at: float
    vertices: list[Sent]
    edges: list[Sent]
    more: bool
    functions: list[Sent]


class CourseRecord(TypedDict):
    """How one descent ended, after how many steps, and the loss at its start and at its end."""

    ending: str
    steps: int
    first: float | None
    last: float | None
    late: bool


class DescentRecord(LookRecord):
    """Gradient descent with what backward returns (``returned``) and with the true derivative (``true``).

    The columns have one number for each step: ``step``, ``loss``, ``true_loss``, and for every element that moves
    ``position``, ``gradient``, ``true_position`` and ``true_gradient``, followed by its index (``position_0_3``)
    where there are several. ``shape`` is that of what moves, empty for a single number, whose ``landscape`` is forward
    along it, or the loss where the output has several elements, with the heights of the two descents.
    """

    view: ReadOnly[Literal["descent"]]
    shape: list[int]
    lr: float | None
    steps: int | None
    goal: list[float]
    at: float | None
    random: bool
    bent: bool
    returned: CourseRecord | None
    true: CourseRecord | None
    landscape: Sent | None
