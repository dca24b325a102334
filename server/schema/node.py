"""The shape of the JSON of the node, opened, for the description of the API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .section import Asked


@dataclass(frozen=True)
class Vertex:
    """One place of the graph; ``node`` is the type of its node, ``row`` counts across its layer, 0 in the middle."""

    kind: Literal["input", "constant", "function", "step", "output", "more"]
    lines: list[str]
    node: str
    layer: int
    row: float


@dataclass(frozen=True)
class Edge:
    """Forward from one vertex to another, by their places; ``label`` is what came back, ``path`` passes the layers."""

    source: int
    target: int
    back: Literal["gradient", "none", "nothing"]
    label: str
    path: list[tuple[int, float]]


@dataclass(frozen=True)
class Thing:
    """A value: ``tensor`` or the name of its type, and its beginning in words; only a tensor has shape and strides."""

    kind: str
    text: str
    shape: list[int] | None
    dtype: str
    strides: list[int] | None
    size: int


@dataclass(frozen=True)
class Argument:
    """One argument of forward, what backward ``returned`` for it, and what torch ``delivered``."""

    name: str
    thing: Thing
    tracked: bool
    dirty: bool
    returned: Thing | None
    delivered: Thing | None


@dataclass(frozen=True)
class Output:
    """One output of forward, whether it is ``silent``, and the ``grad_output`` that ``arrived`` for it."""

    name: str
    thing: Thing
    silent: bool
    arrived: Thing | None


@dataclass(frozen=True)
class Saved:
    """What was saved: the argument or output that it is, in whose memory it lies, and whether backward uses it."""

    name: str
    thing: Thing | None
    shares: str
    used: bool | None


@dataclass(frozen=True)
class Attribute:
    """What forward put on ctx; ``role`` is the argument or output that it is."""

    name: str
    thing: Thing
    role: str


@dataclass(frozen=True)
class LeftOut:
    """How many there are more than are listed."""

    arguments: int
    outputs: int
    saved: int


@dataclass(frozen=True)
class Opened:
    """A Function in one call."""

    name: str
    node: str
    new_style: bool
    once: bool
    materialize: bool
    arguments: list[Argument]
    outputs: list[Output]
    saved: list[Saved]
    attributes: list[Attribute]
    ran: bool
    count: int | None
    returned_list: bool
    more: LeftOut


@dataclass(frozen=True)
class NodeColumns:
    """What is told of the Functions, one value a row."""

    function: list[str]
    part: list[str]
    name: list[str]
    kind: list[str]
    shape: list[str]
    dtype: list[str]
    bytes: list[int]
    value: list[str]


@dataclass(frozen=True)
class Node(Asked):
    """The graph around one call ``at`` one x, and its Functions from inside."""

    view: Literal["node"]
    at: float
    sentence: str
    vertices: list[Vertex]
    edges: list[Edge]
    more: bool
    functions: list[Opened]
    columns: NodeColumns
