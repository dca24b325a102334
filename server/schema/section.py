"""The JSON documents of the view ``curves``, of problems (RFC 9457), health and export size; common fields."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

NumbersSchema = list[float | None]
IntervalSchema = tuple[float, float]
WordSchema = Literal[
    "matches", "matches here", "matches its surrogate", "differs", "undecided", "no gradient", "unsupported", "failed"
]


class PlaceSchema(BaseModel):
    """The device that was used."""

    kind: str
    name: str


class NumericalSchema(BaseModel):
    """How the numerical gradient was measured; ``step`` is the widest difference."""

    dtype: str
    device: str
    forwards_per_point: float
    step: float


class ToleranceSchema(BaseModel):
    """How far analytical and numerical may lie apart, beside the error bound: atol + rtol × |numerical|."""

    atol: float
    rtol: float


class WorstSchema(BaseModel):
    """The point where analytical and numerical lie farthest apart: how far, and as a share of the slope there."""

    x: float
    analytical: float | None
    numerical: float | None
    error: float | None
    off: float | None
    share: float | None


class RemarkSchema(BaseModel):
    """The largest difference, where all are below a billionth of the slopes at their place: a remark."""

    x: float
    off: float
    share: float | None


class ExplanationSchema(BaseModel):
    """The simplest story of what backward does instead: its kind, and the story."""

    kind: str
    sentence: str


class VerdictSchema(BaseModel):
    """What was found, in a word and in a sentence, and on which intervals analytical and numerical differ."""

    word: WordSchema
    sentence: str
    explanation: ExplanationSchema | None
    intervals: list[IntervalSchema]
    worst: WorstSchema | None
    remark: RemarkSchema | None
    judged: int
    undecided: int


class FindingSchema(BaseModel):
    """A law of linear maps that backward breaks: what it returned at x, and what the law calls for."""

    law: str
    x: float | None
    grad_output: float | None
    returned: float | None
    expected: float | None
    sentence: str


class LinearitySchema(BaseModel):
    """Whether backward is linear in grad_output, as far as that was tried; null where it could not be."""

    holds: bool | None
    findings: list[FindingSchema]


class BeyondSchema(BaseModel):
    """What is seen of all numbers that the dtype holds: how far was looked, and where backward differs."""

    reach: IntervalSchema
    finite: IntervalSchema | None
    judged: int
    intervals: list[IntervalSchema]
    sentence: str


class CellSchema(BaseModel):
    """What forward rises by between two neighbouring x, and the area under what backward returned there."""

    left: float
    right: float
    rise: float | None
    area: float | None


class CellsSchema(BaseModel):
    """How many cells there are between neighbouring x, and in which the areas differ."""

    cells: int
    differs: int
    undecided: int
    intervals: list[IntervalSchema]
    worst: CellSchema | None


class ColumnsSchema(BaseModel):
    """One number for each x, null at gaps. All gradients are grad_input for this grad_output."""

    x: list[float]
    forward: NumbersSchema
    analytical: NumbersSchema | None
    numerical: NumbersSchema
    error: NumbersSchema
    left: NumbersSchema
    right: NumbersSchema
    surrogate: NumbersSchema | None
    surrogate_numerical: NumbersSchema | None
    implied: NumbersSchema | None
    status: list[int]


class KinkSchema(BaseModel):
    """Where forward is continuous and its slopes on the two sides differ; at a cusp one of them has no bound."""

    kind: Literal["kink", "cusp"]
    x: float
    forward: float | None
    left: float | None
    right: float | None
    analytical: float | None


class JumpSchema(BaseModel):
    """Where forward is not continuous: its values on the two sides, and at x itself. A pole has no bound there."""

    kind: Literal["jump", "pole"]
    x: float
    below: float | None
    above: float | None
    forward: float | None
    analytical: float | None


class FailureSchema(BaseModel):
    """Why a Function gave no result; ``line`` counts in the source shown, and ``sentence`` says it all."""

    phase: Literal["forward", "backward", "double backward", "surrogate", "worker"]
    kind: str
    message: str
    line: int | None
    sentence: str


class OpinionSchema(BaseModel):
    """What torch's gradgradcheck says at a few points, with order 2: shown beside the verdict, never part of it."""

    passed: bool | None
    sentence: str


class ViewSchema(BaseModel):
    """The fields that the documents of all views share."""

    address: str
    view: str
    op: str
    title: str
    claim: Literal["exact", "surrogate", "broken"]
    wrt: str
    of: str
    start: float
    stop: float
    count: int
    grad_output: float
    order: int
    parameters: dict[str, bool | int | float | str]
    inputs: dict[str, list[float]]
    recipe: str
    dtype: str
    device: PlaceSchema
    notes: list[str]
    failure: FailureSchema | None


class SectionSchema(ViewSchema):
    """One section of one op: what was asked, what was found, and the columns."""

    view: Literal["curves"]
    numerical: NumericalSchema | None
    tolerance: ToleranceSchema | None
    structure: str | None
    verdict: VerdictSchema
    linearity: LinearitySchema
    wide: BeyondSchema | None
    area: CellsSchema | None
    columns: ColumnsSchema
    statuses: list[str]
    gaps: dict[str, dict[str, list[int]]]
    marks: list[KinkSchema | JumpSchema]
    gradgradcheck: OpinionSchema | None


class ProblemSchema(BaseModel):
    """What was wrong, what is allowed and what to do, in one sentence (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str


class SizeSchema(BaseModel):
    """How many sections a file of its own will hold, and about how many bytes it will have."""

    sections: int
    bytes: int


class HealthSchema(BaseModel):
    """``starting`` while torch is loading, then ``ready``."""

    status: Literal["ready", "starting"]
