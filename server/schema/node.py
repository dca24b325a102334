"""The JSON document of the view ``node``, the autograd graph around one call and what its ctx holds."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from .section import ViewSchema


class VertexSchema(BaseModel):
    """One place of the graph; ``node`` is the type of its node, ``row`` counts across its layer, 0 in the middle."""

    kind: Literal["input", "constant", "function", "step", "output", "more"]
    lines: list[str]
    node: str
    layer: int
    row: float


class EdgeSchema(BaseModel):
    """Forward from one vertex to another, by their places; ``label`` is what came back, ``path`` passes the layers."""

    source: int
    target: int
    back: Literal["gradient", "none", "nothing"]
    label: str
    path: list[tuple[int, float]]


class ThingSchema(BaseModel):
    """A value: ``tensor`` or the name of its type, and its beginning in words; only a tensor has shape and strides."""

    kind: str
    text: str
    shape: list[int] | None
    dtype: str
    strides: list[int] | None
    size: int


class ArgumentSchema(BaseModel):
    """One argument of forward, what backward ``returned`` for it, and what torch ``delivered``."""

    name: str
    thing: ThingSchema
    tracked: bool
    dirty: bool
    returned: ThingSchema | None
    delivered: ThingSchema | None


class OutputSchema(BaseModel):
    """One output of forward, whether it is ``silent``, and the ``grad_output`` that ``arrived`` for it."""

    name: str
    thing: ThingSchema
    silent: bool
    arrived: ThingSchema | None


class SavedSchema(BaseModel):
    """What was saved: the argument or output that it is, in whose memory it lies, and whether backward uses it."""

    name: str
    thing: ThingSchema | None
    shares: str
    used: bool | None


class AttributeSchema(BaseModel):
    """What forward put on ctx; ``role`` is the argument or output that it is."""

    name: str
    thing: ThingSchema
    role: str


class LeftOutSchema(BaseModel):
    """How many there are more than are listed."""

    arguments: int
    outputs: int
    saved: int


class OpenedSchema(BaseModel):
    """A Function in one call."""

    name: str
    node: str
    new_style: bool
    once: bool
    materialize: bool
    arguments: list[ArgumentSchema]
    outputs: list[OutputSchema]
    saved: list[SavedSchema]
    attributes: list[AttributeSchema]
    ran: bool
    count: int | None
    returned_list: bool
    more: LeftOutSchema


class NodeColumnsSchema(BaseModel):
    """What is told of the Functions, one value a row."""

    function: list[str]
    part: list[str]
    name: list[str]
    kind: list[str]
    shape: list[str]
    dtype: list[str]
    bytes: list[int]
    value: list[str]


class NodeSchema(ViewSchema):
    """The graph around one call ``at`` one x, and its Functions from inside."""

    view: Literal["node"]
    at: float
    sentence: str
    vertices: list[VertexSchema]
    edges: list[EdgeSchema]
    more: bool
    functions: list[OpenedSchema]
    columns: NodeColumnsSchema
