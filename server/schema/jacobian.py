"""The JSON document of the view ``jacobian``."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from .section import NumbersSchema, ViewSchema


class SideSchema(BaseModel):
    """Neighbouring elements of a tensor: ``count`` of them from ``first`` on, flat in row-major order."""

    name: str
    shape: list[int]
    first: int
    count: int


class TensorSchema(BaseModel):
    """A tensor, or a parameter, to choose, and the element of it to begin with."""

    name: str
    first: str


class TensorsSchema(BaseModel):
    """Outputs and inputs."""

    of: list[TensorSchema]
    wrt: list[TensorSchema]


class JacobianCellSchema(BaseModel):
    """One cell by the names of its elements, and what differences and backward say of it."""

    of: str
    wrt: str
    numerical: float | None
    returned: float | None


class ElsewhereSchema(BaseModel):
    """A quicker look at all cells of a Jacobian that is larger than the block: there may be ``more`` that differ."""

    cells: int
    judged: int
    differs: int
    more: bool
    worst: JacobianCellSchema | None


class InfluenceLossSchema(BaseModel):
    """A loss on some outputs: how each is linked to each input, row by row of one output, and what arrives there."""

    name: str
    outputs: list[str]
    links: list[list[Literal["arrives", "dropped", "unfounded", "nothing", "unknown"]]]
    returned: list[str]
    sentence: str
    failure: str | None


class InfluenceSchema(BaseModel):
    """Which input reaches which output, and at which a gradient arrives."""

    inputs: list[str]
    outputs: list[str]
    losses: list[InfluenceLossSchema]


class JacobianColumnsSchema(BaseModel):
    """One number for each cell, row by row of one output; ``row`` and ``column`` are flat places in their tensors.

    ``left`` and ``right`` are the slopes on either side of a kink, null elsewhere.
    """

    row: list[float]
    column: list[float]
    numerical: NumbersSchema
    returned: NumbersSchema | None
    difference: NumbersSchema | None
    error: NumbersSchema
    left: NumbersSchema
    right: NumbersSchema
    status: list[int]


class JacobianSchema(ViewSchema):
    """The block of ∂of/∂wrt that holds the two elements, where all inputs are held, per unit of grad_output."""

    view: Literal["jacobian"]
    sentence: str
    at: float | None
    rows: SideSchema | None
    across: SideSchema | None
    tensors: TensorsSchema | None
    pattern: str
    together: bool
    statuses: list[str]
    differs: int
    designed: bool
    worst: JacobianCellSchema | None
    elsewhere: ElsewhereSchema | None
    influence: InfluenceSchema | None
    columns: JacobianColumnsSchema
