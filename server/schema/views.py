"""The shape of the JSON of every view but the curves, for the description of the API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .section import Asked, Finding, Interval, Numbers


@dataclass(frozen=True)
class AreaColumns:
    """One number for each cell. ``allowed`` is what the residual, rise − area, may be."""

    left: list[float]
    right: list[float]
    rise: Numbers
    area: Numbers
    residual: Numbers
    allowed: Numbers
    status: list[int]


@dataclass(frozen=True)
class Area(Asked):
    """What forward rises by between neighbouring x, against the area under what backward returned there."""

    view: Literal["area"]
    sentence: str
    statuses: list[str]
    intervals: list[Interval]
    columns: AreaColumns


@dataclass(frozen=True)
class MapColumns:
    """``ratio`` is grad_input / grad_output row by row, one row for each ``grad_output``."""

    x: list[float]
    grad_output: list[float]
    ratio: Numbers


@dataclass(frozen=True)
class Map(Asked):
    """What backward returns for many grad_output: the same ratio for all of them, where it is linear."""

    view: Literal["map"]
    sentence: str
    shape: tuple[int, int]
    findings: list[Finding]
    columns: MapColumns


@dataclass(frozen=True)
class Loss:
    """Units in the last place of the dtype: the median, the most, and where that is."""

    median: float
    max: float
    x: float


@dataclass(frozen=True)
class Support:
    """One dtype on one device, held against the ``yardstick``.

    ``overflow``: the first x to the left and to the right from which on forward is no longer finite.
    """

    dtype: str
    device: str
    supported: bool
    message: str
    yardstick: bool
    forward_ulp: Loss | None
    gradient_ulp: Loss | None
    overflow: tuple[float | None, float | None]
    nan_gradients: int
    infinite_gradients: int
    computes_in: str | None


@dataclass(frozen=True)
class Complex:
    """How backward treats complex numbers."""

    verdict: str
    sentence: str


@dataclass(frozen=True)
class Precision(Asked):
    """The dtypes and devices side by side; the columns are errors in units in the last place, ``forward_float32``."""

    view: Literal["precision"]
    sentence: str
    rows: list[Support]
    complex: Complex | None
    columns: dict[str, Numbers]


@dataclass(frozen=True)
class WideColumns:
    """One number for each x over all that the dtype can hold. Gradients are grad_input."""

    x: list[float]
    forward: Numbers
    analytical: Numbers
    numerical: Numbers
    error: Numbers
    status: list[int]


@dataclass(frozen=True)
class Wide(Asked):
    """All numbers that the dtype can hold: how far was looked, and where backward differs."""

    view: Literal["wide"]
    sentence: str
    statuses: list[str]
    reach: Interval | None
    finite: Interval | None
    intervals: list[Interval]
    columns: WideColumns


@dataclass(frozen=True)
class Best:
    """The slope of forward, and the bound of its error."""

    value: float | None
    error: float | None


@dataclass(frozen=True)
class Least:
    """The step whose central difference has the least error."""

    step: float
    error: float | None


@dataclass(frozen=True)
class StepColumns:
    """One number for each step: the errors of the differences, what they consist of, and Taylor's remainder."""

    step: list[float]
    central: Numbers
    left: Numbers
    right: Numbers
    truncation: Numbers
    rounding: Numbers
    taylor: Numbers


@dataclass(frozen=True)
class Step(Asked):
    """The differences of forward at one x, with steps of every size. All slopes are those of forward itself."""

    view: Literal["step"]
    sentence: str
    at: float
    kind: str | None
    best: Best | None
    analytical: float | None
    left: float | None
    right: float | None
    central_order: float | None
    rounding: float | None
    chosen: list[float]
    least: Least | None
    taylor_order: float | None
    columns: StepColumns
