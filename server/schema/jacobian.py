"""The answer of the view ``jacobian``."""

from typing import Literal

from typing_extensions import ReadOnly, TypedDict

from .section import NumberColumn, ViewRecord


class SideRecord(TypedDict):
    """Neighbouring elements of a tensor: ``count`` of them from ``first`` on, flat in row-major order."""

    name: str
    shape: list[int]
    first: int
    count: int


class TensorRecord(TypedDict):
    """A tensor, or a parameter, to choose, and the element of it to begin with."""

    name: str
    first: str


class TensorsRecord(TypedDict):
    """Outputs and inputs."""

    of: list[TensorRecord]
    wrt: list[TensorRecord]


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


class JacobianColumnsRecord(TypedDict):
    """One number for each cell, row by row of one output; ``row`` and ``column`` are flat places in their tensors.

    ``left`` and ``right`` are the slopes on either side of a kink, null elsewhere.
    """

    row: list[float]
    column: list[float]
    numerical: NumberColumn
    returned: NumberColumn | None
    difference: NumberColumn | None
    error: NumberColumn
    left: NumberColumn
    right: NumberColumn
    status: list[int]


class JacobianRecord(ViewRecord):
    """The block of ∂of/∂wrt that holds the two elements, where all inputs are held, per unit of grad_output."""

    view: ReadOnly[Literal["jacobian"]]
    sentence: str
    at: float | None
    rows: SideRecord | None
    across: SideRecord | None
    tensors: TensorsRecord | None
    pattern: str
    together: bool
    statuses: list[str]
    differs: int
    designed: bool
    worst: JacobianCellRecord | None
    elsewhere: ElsewhereRecord | None
    influence: InfluenceRecord | None
