"""The answer of the view ``node``, the autograd graph around one call and what its ctx holds."""

from typing import Literal

from typing_extensions import ReadOnly, TypedDict

from .section import ViewRecord


class VertexRecord(TypedDict):
    """One place of the graph; ``node`` is the type of its node, ``row`` counts across its layer, 0 in the middle."""

    kind: Literal["input", "constant", "function", "step", "output", "more"]
    lines: list[str]
    node: str
    layer: int
    row: float


class EdgeRecord(TypedDict):
    """Forward from one vertex to another, by their places; ``label`` is what came back, ``path`` passes the layers."""

    source: int
    target: int
    back: Literal["gradient", "none", "nothing"]
    label: str
    path: list[tuple[int, float]]


class ThingRecord(TypedDict):
    """A value: ``tensor`` or the name of its type, and its beginning in words; only a tensor has shape and strides."""

    kind: str
    text: str
    shape: list[int] | None
    dtype: str
    strides: list[int] | None
    size: int


class ArgumentRecord(TypedDict):
    """One argument of forward, what backward ``returned`` for it, and what torch ``delivered``."""

    name: str
    thing: ThingRecord
    tracked: bool
    dirty: bool
    returned: ThingRecord | None
    delivered: ThingRecord | None


class OutputRecord(TypedDict):
    """One output of forward, whether it is ``silent``, and the ``grad_output`` that ``arrived`` for it."""

    name: str
    thing: ThingRecord
    silent: bool
    arrived: ThingRecord | None


class SavedRecord(TypedDict):
    """What was saved: the argument or output that it is, in whose memory it lies, and whether backward uses it."""

    name: str
    thing: ThingRecord | None
    shares: str
    used: bool | None


class AttributeRecord(TypedDict):
    """What forward put on ctx; ``role`` is the argument or output that it is."""

    name: str
    thing: ThingRecord
    role: str


class LeftOutRecord(TypedDict):
    """How many there are more than are listed."""

    arguments: int
    outputs: int
    saved: int


class OpenedRecord(TypedDict):
    """A Function in one call."""

    name: str
    node: str
    new_style: bool
    once: bool
    materialize: bool
    arguments: list[ArgumentRecord]
    outputs: list[OutputRecord]
    saved: list[SavedRecord]
    attributes: list[AttributeRecord]
    ran: bool
    count: int | None
    returned_list: bool
    more: LeftOutRecord


class NodeColumnsRecord(TypedDict):
    """What is told of the Functions, one value a row."""

    function: list[str]
    part: list[str]
    name: list[str]
    kind: list[str]
    shape: list[str]
    dtype: list[str]
    bytes: list[int]
    value: list[str]


class NodeRecord(ViewRecord):
    """The graph around one call ``at`` one x, and its Functions from inside."""

    view: ReadOnly[Literal["node"]]
    at: float
    sentence: str
    vertices: list[VertexRecord]
    edges: list[EdgeRecord]
    more: bool
    functions: list[OpenedRecord]
