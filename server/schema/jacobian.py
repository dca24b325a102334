"""The shape of the JSON of the Jacobian, for the description of the API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .section import Asked, Numbers


@dataclass(frozen=True)
class Side:
    """Neighbouring elements of a tensor: ``count`` of them from ``first`` on, flat in row-major order."""

    name: str
    shape: list[int]
    first: int
    count: int


@dataclass(frozen=True)
class Tensor:
    """A tensor, or a parameter, to choose, and the element of it to begin with."""

    name: str
    first: str


@dataclass(frozen=True)
class Tensors:
    """Outputs and inputs."""

    of: list[Tensor]
    wrt: list[Tensor]


@dataclass(frozen=True)
class JacobianCell:
    """One cell by the names of its elements, and what differences and backward say of it."""

    of: str
    wrt: str
    numerical: float | None
    returned: float | None


@dataclass(frozen=True)
class Elsewhere:
    """A quicker look at all cells of a Jacobian that is larger than the block: there may be ``more`` that differ."""

    cells: int
    judged: int
    differs: int
    more: bool
    worst: JacobianCell | None


@dataclass(frozen=True)
class InfluenceLoss:
    """A loss on some outputs: how each is linked to each input, row by row of one output, and what arrives there."""

    name: str
    outputs: list[str]
    links: list[list[Literal["arrives", "dropped", "unfounded", "nothing", "unknown"]]]
    returned: list[str]
    sentence: str
    failure: str | None


@dataclass(frozen=True)
class Influence:
    """Which input reaches which output, and at which a gradient arrives."""

    inputs: list[str]
    outputs: list[str]
    losses: list[InfluenceLoss]


@dataclass(frozen=True)
class JacobianColumns:
    """One number for each cell, row by row of one output; ``row`` and ``column`` are flat places in their tensors.

    ``left`` and ``right`` are the slopes on either side of a kink, null elsewhere.
    """

    row: list[float]
    column: list[float]
    numerical: Numbers
    returned: Numbers | None
    difference: Numbers | None
    error: Numbers
    left: Numbers
    right: Numbers
    status: list[int]


@dataclass(frozen=True)
class Jacobian(Asked):
    """The block of ∂of/∂wrt that holds the two elements, where all inputs are held, per unit of grad_output."""

    view: Literal["jacobian"]
    sentence: str
    at: float | None
    rows: Side | None
    across: Side | None
    tensors: Tensors | None
    pattern: str
    together: bool
    statuses: list[str]
    differs: int
    designed: bool
    worst: JacobianCell | None
    elsewhere: Elsewhere | None
    influence: Influence | None
    columns: JacobianColumns
