"""The JSON document of the view ``descent``, gradient descent by both gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .section import NumbersSchema, ViewSchema


@dataclass(frozen=True)
class CourseSchema:
    """How one descent ended, after how many steps, and the loss at its start and at its end."""

    ending: Literal[
        "there",
        "reached",
        "stays",
        "stuck",
        "small",
        "settles",
        "falls",
        "rises",
        "level",
        "oscillates",
        "diverges",
        "infinite",
        "nan",
        "bare",
        "failed",
    ]
    steps: int
    first: float | None
    last: float | None
    late: bool


@dataclass(frozen=True)
class LandscapeSchema:
    """Where a single number moves: forward along it, or the loss where the output has several elements.

    ``returned`` and ``true`` are the heights of the two descents, step by step.
    """

    of: Literal["forward", "loss"]
    x: list[float]
    y: NumbersSchema
    returned: NumbersSchema
    true: NumbersSchema


@dataclass(frozen=True)
class DescentSchema(ViewSchema):
    """Gradient descent with what backward returns (``returned``) and with the true derivative (``true``).

    The columns have one number for each step: ``step``, ``loss``, ``true_loss``, and for every element that moves
    ``position``, ``gradient``, ``true_position`` and ``true_gradient``, followed by its index (``position_0_3``)
    where there are several. ``shape`` is that of what moves, empty for a single number.
    """

    view: Literal["descent"]
    sentence: str
    shape: list[int]
    lr: float | None
    steps: int | None
    goal: list[float]
    at: float | None
    random: bool
    bent: bool
    returned: CourseSchema | None
    true: CourseSchema | None
    landscape: LandscapeSchema | None
    columns: dict[str, NumbersSchema]
