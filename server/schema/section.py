"""The answer of the view ``curves``, fields of all answers, and the JSON of problems (RFC 9457), and health."""

from dataclasses import dataclass
from typing import Literal, NotRequired

from typing_extensions import ReadOnly, TypedDict

from .op import Claim

NumberColumn = list[float | None]
Ends = tuple[float, float]
VerdictWord = Literal[
    "matches", "matches here", "matches its surrogate", "differs", "undecided", "no gradient", "unsupported", "failed"
]


class PlaceRecord(TypedDict):
    """The device that was used."""

    kind: str
    name: str


class NumericalRecord(TypedDict):
    """How the numerical gradient was measured; ``step`` is the widest difference."""

    dtype: str
    device: str
    forwards_per_point: float
    step: float


class ToleranceRecord(TypedDict):
    """How far analytical and numerical may lie apart, beside the error bound: atol + rtol × |numerical|."""

    atol: float
    rtol: float


class WorstRecord(TypedDict):
    """The point where analytical and numerical lie farthest apart: how far, and as a share of the slope there."""

    x: float
    analytical: float | None
    numerical: float | None
    error: float | None
    off: float | None
    share: float | None


class RemarkRecord(TypedDict):
    """The largest difference, where all are below a billionth of the slopes at their place: a remark."""

    x: float
    off: float
    share: float | None


class ExplanationRecord(TypedDict):
    """The simplest story of what backward does instead: its kind, and the story."""

    kind: str
    sentence: str


class VerdictRecord(TypedDict):
    """What was found, in a word, in a line and in sentences, and on which intervals analytical and numerical differ.

    ``note`` is the stable name of the mistake, as ``mask-forgotten``, or ``solved``. ``headline`` is the worse of
    curves and contract, as far as an op says itself what its contract finds.
    """

    word: VerdictWord
    note: str
    headline: str
    sentence: str
    explanation: ExplanationRecord | None
    intervals: list[Ends]
    worst: WorstRecord | None
    remark: RemarkRecord | None
    judged: int
    undecided: int


class FindingRecord(TypedDict):
    """A law of linear maps that backward breaks: what it returned at x, and what the law calls for."""

    law: str
    x: float | None
    grad_output: float | None
    returned: float | None
    expected: float | None
    sentence: str


class LinearityRecord(TypedDict):
    """Whether backward is linear in grad_output, as far as that was tried; null where it could not be."""

    holds: bool | None
    findings: list[FindingRecord]


class BeyondRecord(TypedDict):
    """What is seen of all numbers that the dtype holds: how far was looked, and where backward differs."""

    reach: Ends
    finite: Ends | None
    judged: int
    intervals: list[Ends]
    sentence: str


class CellRecord(TypedDict):
    """What forward rises by between two neighbouring x, and the area under what backward returned there."""

    left: float
    right: float
    rise: float | None
    area: float | None


class CellsRecord(TypedDict):
    """How many cells there are between neighbouring x, and in which the areas differ."""

    cells: int
    differs: int
    undecided: int
    intervals: list[Ends]
    worst: CellRecord | None


Bins = list[tuple[float, float, float]]


class SeenSiteRecord(TypedDict):
    """One place that calls the Function: how often, and for which shares of its inputs what is so."""

    path: str
    line: str
    calls: int
    backwards: int
    differs: float | None
    stopped: float | None
    kinks: float | None


class SeenRecord(TypedDict):
    """What a step has seen of the input that is swept: numbers of a sample, as shares of it where that is not said.

    ``differs`` is where backward differs for its own grad_output, ``negative`` how much of that is so there, or of all
    where nothing differs; ``stopped`` is where backward returns 0, ``outside`` beyond the range shown. ``kinks`` are x
    with the share exactly there. ``inputs``, but for those on kinks, and ``grad_outputs`` are histograms: from, to,
    share.
    """

    file: str
    sampled: int
    passed: int
    differs: float | None
    negative: float | None
    stopped: float | None
    outside: float
    missing: float
    kinks: list[tuple[float, float]]
    sites: list[SeenSiteRecord]
    inputs: Bins
    grad_outputs: Bins
    sentences: list[str]


class ColumnsRecord(TypedDict):
    """One number for each x, null at gaps.

    All gradients are grad_input for this grad_output: analytical, numerical with its error, and left and right, those
    on the two sides of x. With the data of a step there is a column ``seen``, the share of its numbers in the same bin.
    """

    x: list[float]
    forward: NumberColumn
    analytical: NumberColumn | None
    numerical: NumberColumn
    error: NumberColumn
    left: NumberColumn
    right: NumberColumn
    surrogate: NumberColumn | None
    surrogate_numerical: NumberColumn | None
    implied: NumberColumn | None
    status: list[int]


class MarkRecord(TypedDict):
    """A special point."""

    x: float
    forward: float | None
    analytical: float | None


class KinkRecord(MarkRecord):
    """Where forward is continuous and its slopes on the two sides differ; at a cusp one of them has no bound.

    left and right are the gradients on the two sides: those slopes times grad_output.
    """

    kind: Literal["kink", "cusp"]
    left: float | None
    right: float | None


class JumpRecord(MarkRecord):
    """Where forward is not continuous: its values on the two sides, and at x itself. A pole has no bound there."""

    kind: Literal["jump", "pole"]
    below: float | None
    above: float | None


class FailureRecord(TypedDict):
    """Why a Function gave no result; ``line`` counts in the source shown, and ``sentence`` says it all."""

    phase: Literal["forward", "backward", "double backward", "surrogate", "worker"]
    kind: str
    message: str
    line: int | None
    sentence: str


class OpinionRecord(TypedDict):
    """What torch's gradgradcheck says at a few points, with order 2: shown beside the verdict, never part of it."""

    passed: bool | None
    sentence: str


class TermsRecord(TypedDict):
    """What the names of the quantities depend on."""

    order: int
    of: str
    wrt: str
    grad_output: float


@dataclass(frozen=True)
class Nouns:
    """``forward`` is the function that is looked at and ``backward`` what returns its derivative.

    ``of`` is what the upper panel measures and ``slope`` what the lower one does, ``drawn`` the word for the curve in
    the upper one. ``scale`` is the number by which gradients are multiples of slopes.
    """

    of: str
    forward: str
    backward: str
    drawn: str
    slope: str
    scale: float


class AskedRecord(TermsRecord):
    """What was asked, with title and claim of the op, the device that was used, and notes."""

    view: ReadOnly[str]
    op: str
    title: str
    claim: Claim
    start: float
    stop: float
    count: int
    parameters: dict[str, bool | int | float | str]
    inputs: dict[str, list[float]]
    recipe: str
    dtype: str
    device: PlaceRecord
    notes: list[str]


class ViewRecord(AskedRecord):
    """The fields that the answers of all views share."""

    failure: FailureRecord | None


class SectionRecord(ViewRecord):
    """The curves of one section of one op, and the verdict on them.

    ``hurried`` says why few points were looked at; it is empty where there was time for all.
    """

    view: ReadOnly[Literal["curves"]]
    numerical: NumericalRecord | None
    tolerance: ToleranceRecord | None
    structure: str | None
    verdict: VerdictRecord
    linearity: LinearityRecord
    hurried: str
    wide: BeyondRecord | None
    area: CellsRecord | None
    seen: SeenRecord | None
    statuses: list[str]
    gaps: dict[str, dict[str, list[int]]]
    marks: list[KinkRecord | JumpRecord]
    gradgradcheck: OpinionRecord | None


class SectionDocument(SectionRecord):
    """One section of one op, with its canonical address and its columns."""

    address: str
    columns: ColumnsRecord


class RefusalRecord(TypedDict):
    """Why one parameter of the address is refused."""

    parameter: str
    detail: str


class ProblemRecord(TypedDict):
    """What was wrong, what is allowed and what to do (RFC 9457): a sentence for each parameter that is refused.

    ``parameter`` is the first of those, and ``errors`` has all; both are missing where it is none in particular.
    """

    type: str
    title: str
    status: int
    detail: str
    parameter: NotRequired[str]
    errors: NotRequired[list[RefusalRecord]]


class HealthRecord(TypedDict):
    """``starting`` while torch is loading, then ``ready``."""

    status: Literal["ready", "starting"]
