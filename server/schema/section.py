"""The shape of the JSON of sections, problems and health, for the description; nothing is converted through it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Numbers = list[float | None]
Interval = tuple[float, float]
Word = Literal[
    "matches", "matches here", "matches its surrogate", "differs", "undecided", "no gradient", "unsupported", "failed"
]


@dataclass(frozen=True)
class Place:
    """The device that was used."""

    kind: str
    name: str


@dataclass(frozen=True)
class Numerical:
    """How the numerical gradient was measured; ``step`` is the widest difference."""

    dtype: str
    device: str
    forwards_per_point: float
    step: float


@dataclass(frozen=True)
class Tolerance:
    """How far analytical and numerical may lie apart, beside the error bound: atol + rtol × |numerical|."""

    atol: float
    rtol: float


@dataclass(frozen=True)
class Worst:
    """The point where analytical and numerical lie farthest apart."""

    x: float
    analytical: float | None
    numerical: float | None
    error: float | None


@dataclass(frozen=True)
class Explanation:
    """The simplest story of what backward does instead: its kind, and the story."""

    kind: str
    sentence: str


@dataclass(frozen=True)
class Verdict:
    """What was found, in a word and in a sentence, and on which intervals analytical and numerical differ."""

    word: Word
    sentence: str
    explanation: Explanation | None
    intervals: list[Interval]
    worst: Worst | None
    judged: int
    undecided: int


@dataclass(frozen=True)
class Finding:
    """A law of linear maps that backward breaks: what it returned at x, and what the law calls for."""

    law: str
    x: float | None
    grad_output: float | None
    returned: float | None
    expected: float | None
    sentence: str


@dataclass(frozen=True)
class Linearity:
    """Whether backward is linear in grad_output, as far as that was tried; null where it could not be."""

    holds: bool | None
    findings: list[Finding]


@dataclass(frozen=True)
class Beyond:
    """What is seen of all numbers that the dtype holds: how far was looked, and where backward differs."""

    reach: Interval
    finite: Interval | None
    judged: int
    intervals: list[Interval]
    sentence: str


@dataclass(frozen=True)
class Cell:
    """What forward rises by between two neighbouring x, and the area under what backward returned there."""

    left: float
    right: float
    rise: float | None
    area: float | None


@dataclass(frozen=True)
class Cells:
    """How many cells there are between neighbouring x, and in which the areas differ."""

    cells: int
    differs: int
    undecided: int
    intervals: list[Interval]
    worst: Cell | None


@dataclass(frozen=True)
class Columns:
    """One number for each x, null at gaps. All gradients are grad_input for this grad_output."""

    x: list[float]
    forward: Numbers
    analytical: Numbers | None
    numerical: Numbers
    error: Numbers
    left: Numbers
    right: Numbers
    surrogate: Numbers | None
    surrogate_numerical: Numbers | None
    implied: Numbers | None
    status: list[int]


@dataclass(frozen=True)
class Kink:
    """Where forward is continuous and its slopes on the two sides differ; at a cusp one of them has no bound."""

    kind: Literal["kink", "cusp"]
    x: float
    forward: float | None
    left: float | None
    right: float | None
    analytical: float | None


@dataclass(frozen=True)
class Jump:
    """Where forward is not continuous: its values on the two sides, and at x itself. A pole has no bound there."""

    kind: Literal["jump", "pole"]
    x: float
    below: float | None
    above: float | None
    forward: float | None
    analytical: float | None


@dataclass(frozen=True)
class Failure:
    """Why a Function gave no result; ``line`` counts in the source shown, and ``sentence`` says it all."""

    phase: Literal["forward", "backward", "double backward", "surrogate", "worker"]
    kind: str
    message: str
    line: int | None
    sentence: str


@dataclass(frozen=True)
class Opinion:
    """What torch's gradgradcheck says at a few points, with order 2: shown beside the verdict, never part of it."""

    passed: bool | None
    sentence: str


@dataclass(frozen=True)
class Asked:
    """What was asked, and what every view of a section says."""

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
    device: Place
    notes: list[str]
    failure: Failure | None


@dataclass(frozen=True)
class Section(Asked):
    """One section of one op: what was asked, what was found, and the columns."""

    view: Literal["curves"]
    numerical: Numerical | None
    tolerance: Tolerance | None
    structure: str | None
    verdict: Verdict
    linearity: Linearity
    wide: Beyond | None
    area: Cells | None
    columns: Columns
    statuses: list[str]
    gaps: dict[str, dict[str, list[int]]]
    marks: list[Kink | Jump]
    gradgradcheck: Opinion | None


@dataclass(frozen=True)
class Problem:
    """What was wrong, what is allowed and what to do, in one sentence (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str


@dataclass(frozen=True)
class Size:
    """How many sections a file of its own will hold, and about how many bytes it will have."""

    sections: int
    bytes: int


@dataclass(frozen=True)
class Health:
    """``starting`` while torch is loading, then ``ready``."""

    status: Literal["ready", "starting"]
