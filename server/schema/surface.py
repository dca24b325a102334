"""The answer of the view ``surface``."""

from typing import Literal

from typing_extensions import ReadOnly, TypedDict

from .section import NumberColumn, ViewRecord


class TurnRecord(TypedDict):
    """A rectangle around which the field adds up to ``circulation``; ``curl`` is that for each unit of area."""

    x0: float
    x1: float
    y0: float
    y1: float
    circulation: float
    curl: float


class PotentialTestRecord(TypedDict):
    """Whether the returned field is the gradient of a function, and of which: ``word``.

    ``judged`` is the share of the plane that could be, ``turning`` the share that is turned in. ``holds`` is null where
    nothing can be told.
    """

    word: Literal["forward", "surrogate", "another", "none", "unknown"]
    sentence: str
    holds: bool | None
    judged: float
    turning: float
    worst: TurnRecord | None


class PairRecord(TypedDict):
    """The same test for two other elements, over their domains."""

    wrt: str
    wrt2: str
    holds: bool | None
    worst: TurnRecord | None


class RidgesRecord(TypedDict):
    """Points at which forward bends, or jumps."""

    x: list[float]
    y: list[float]
    jump: list[bool]


class SurfaceColumnsRecord(TypedDict):
    """``x`` and ``y`` are the axes; all else is row by row of one y.

    ``analytical`` is null for a parameter; ``allowed`` is how far it may be from ``numerical``. ``implied`` is the line
    integral of what was returned, where that is not the gradient of forward.
    """

    x: list[float]
    y: list[float]
    forward: NumberColumn
    analytical_x: NumberColumn | None
    numerical_x: NumberColumn
    allowed_x: NumberColumn
    status_x: list[int]
    analytical_y: NumberColumn | None
    numerical_y: NumberColumn
    allowed_y: NumberColumn
    status_y: list[int]
    implied: NumberColumn | None


class SurfaceRecord(ViewRecord):
    """Two elements swept at once: forward, and both components of its gradient as returned and by differences.

    ``places`` are where the two lie in their tensors, in row-major order; null for a parameter.
    """

    view: ReadOnly[Literal["surface"]]
    wrt2: str | None
    start2: float | None
    stop2: float | None
    sentence: str
    structure: str | None
    places: tuple[int | None, int | None]
    shape: tuple[int, int]
    statuses: list[str]
    differs: int
    potential: PotentialTestRecord | None
    pairs: list[PairRecord]
    ridges: RidgesRecord
