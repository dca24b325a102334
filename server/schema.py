"""The shape of the JSON, for the description of the API; nothing is converted through it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Numbers = list[float | None]
Word = Literal["matches", "matches its surrogate", "differs", "undecided", "no gradient", "failed"]


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
class Verdict:
    """What was found, in a word and in a sentence, and on which intervals analytical and numerical differ."""

    word: Word
    sentence: str
    intervals: list[tuple[float, float]]
    worst: Worst | None
    judged: int
    undecided: int


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
    status: list[int]


@dataclass(frozen=True)
class Kink:
    """Where forward is continuous and its slopes on the two sides differ."""

    kind: Literal["kink"]
    x: float
    forward: float | None
    left: float | None
    right: float | None
    analytical: float | None


@dataclass(frozen=True)
class Jump:
    """Where forward is not continuous: its values on the two sides, and at x itself."""

    kind: Literal["jump"]
    x: float
    below: float | None
    above: float | None
    forward: float | None
    analytical: float | None


@dataclass(frozen=True)
class Failure:
    """Why a Function gave no result; ``line`` counts in the source shown."""

    phase: Literal["forward", "backward", "worker"]
    kind: str
    message: str
    line: int | None


@dataclass(frozen=True)
class Section:
    """One section of one op: what was asked, what was found, and the columns."""

    address: str
    op: str
    title: str
    claim: Literal["exact", "surrogate", "broken"]
    wrt: str
    of: str
    start: float
    stop: float
    count: int
    grad_output: float
    parameters: dict[str, bool | int | float | str]
    inputs: dict[str, list[float]]
    dtype: str
    device: Place
    notes: list[str]
    numerical: Numerical | None
    tolerance: Tolerance | None
    structure: str | None
    verdict: Verdict
    columns: Columns
    statuses: list[str]
    gaps: dict[str, dict[str, list[int]]]
    marks: list[Kink | Jump]
    failure: Failure | None


@dataclass(frozen=True)
class Problem:
    """What was wrong, what is allowed and what to do, in one sentence (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str


@dataclass(frozen=True)
class Health:
    """``starting`` while torch is loading, then ``ready``."""

    status: Literal["ready", "starting"]
