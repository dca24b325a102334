"""The JSON document of the view ``contract``, the contract X-ray: checks, capabilities and raw gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .section import ViewSchema


@dataclass(frozen=True)
class CheckSchema:
    """One check: what was seen, what torch made of it, and what to do. ``line`` counts in the source of the page.

    ``element`` is what of the inputs it was seen in, empty where that is no one element.
    """

    id: str
    family: str
    level: Literal["error", "warning", "note", "fine"]
    title: str
    seen: str
    torch: str
    advice: str
    line: int | None
    document: str
    element: str


@dataclass(frozen=True)
class BadgeSchema:
    """Whether a part of torch takes the Function: ``no`` is a refusal, ``wrong`` other numbers."""

    name: str
    state: Literal["yes", "no", "wrong", "unknown"]
    sentence: str


@dataclass(frozen=True)
class RawSchema:
    """What backward returned for one argument of forward, beside what the engine delivered."""

    input: str
    shape: str
    returned: str
    returned_dtype: str
    delivered: str
    delivered_dtype: str


@dataclass(frozen=True)
class ContractColumnsSchema:
    """The checks, one value a row."""

    id: list[str]
    family: list[str]
    level: list[str]
    title: list[str]
    seen: list[str]
    torch: list[str]
    advice: list[str]
    line: list[int | None]
    document: list[str]
    element: list[str]


@dataclass(frozen=True)
class ContractSchema(ViewSchema):
    """What autograd expects of a Function and says nothing about, each put to one working call.

    ``tried`` says with what numbers a Function of one number was called; empty where the shapes tell.
    """

    view: Literal["contract"]
    sentence: str
    checks: list[CheckSchema]
    badges: list[BadgeSchema]
    raw: list[RawSchema]
    tried: str
    columns: ContractColumnsSchema
