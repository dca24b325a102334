"""Drawing of a traced call as vertices and edges: forward from inputs to outputs, labelled with the gradients; its
layout in layers, with rows sorted for few crossings (Sugiyama).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch.autograd.function import BackwardCFunction

from ..runtime.arrays import dtype_name
from .profiler import RecordedCall
from .trace import GraphTrace, is_accumulate_grad
from .values import ValueSummary, one_line, shape_as_list, value_summary

# How many constants of one Function are written out, and how many characters of each.
_LINES, _LINE = 4, 28
# How many edges of one node are drawn separately.
_EDGES = 24
_SUFFIX = re.compile(r"Backward\d*$")

_Kind = Literal["input", "constant", "function", "step", "output", "more"]
Point = tuple[int, float]  # layer, and the row in it, 0 in the middle
# What flowed back along an edge: a gradient, None, or nothing, because backward did not reach it.
_Back = Literal["gradient", "none", "nothing"]


@dataclass(frozen=True)
class _Vertex:
    """``lines`` are its label; ``node`` is the type of its autograd node, empty if it has none."""

    kind: _Kind
    lines: tuple[str, ...]
    node: str
    layer: int
    row: float


@dataclass(frozen=True)
class _Edge:
    """From one vertex to a later one, by index; ``label`` is a short form of the gradient that flowed back.

    ``path`` are the points at which it crosses a layer. Parallel edges are separate.
    """

    source: int
    target: int
    back: _Back
    label: str
    path: tuple[Point, ...]


@dataclass(frozen=True)
class Picture:
    """The layout: ``layer`` 0 of a vertex is the first, and ``row`` counts across it with 0 in the middle."""

    vertices: tuple[_Vertex, ...]
    edges: tuple[_Edge, ...]
    more: bool


@dataclass
class _Sketch:
    """The vertices and edges before the layout."""

    vertices: list[tuple[_Kind, tuple[str, ...], str]] = field(default_factory=list)
    edges: list[tuple[int, int, _Back, str]] = field(default_factory=list)

    def vertex(self, kind: _Kind, *lines: str, node: str = "") -> int:
        self.vertices.append((kind, tuple(one_line(line, _LINE) for line in lines), node))
        return len(self.vertices) - 1

    def edge(self, source: int, target: int, back: _Back = "nothing", label: str = "") -> None:
        self.edges.append((source, target, back, label))


def draw_graph(call: GraphTrace) -> Picture:
    sketch = _Sketch()
    inputs = {name: sketch.vertex("input", *_titled(name, copy)) for name, copy in call.given.items()}
    places: dict[Any, int] = {}
    for node in reversed(call.nodes):
        places[node] = _node(sketch, call, node)
    reached = set()
    for node in reversed(call.nodes):
        reached |= _edges(sketch, call, node, places, inputs)
    reached |= _outputs(sketch, call, places, inputs)
    for name in reached:
        kind, lines, _ = sketch.vertices[inputs[name]]
        sketch.vertices[inputs[name]] = (kind, lines, "AccumulateGrad")
    return _placed(sketch, call.more)


def _node(sketch: _Sketch, call: GraphTrace, node: Any) -> int:
    name = type(node).__name__
    if not isinstance(node, BackwardCFunction):
        return sketch.vertex("step", _forward_name(name), node=one_line(name))
    place = sketch.vertex("function", one_line(type(node)._forward_cls.__name__), node=one_line(name))  # type: ignore[attr-defined]
    record = call.recorder.of(node)
    if record is not None:
        _constants(sketch, record, place)
    return place


def _constants(sketch: _Sketch, record: RecordedCall, place: int) -> None:
    """One vertex that lists the arguments that need no gradient."""
    needed = list(record.node.needs_input_grad)
    lines = [
        _constant(name, value)
        for i, (name, value) in enumerate(zip(record.names, record.arguments, strict=False))
        if not (i < len(needed) and needed[i])
    ]
    if lines:
        more = len(lines) - _LINES
        shown = [*lines[: _LINES - 1], f"and {more + 1} more"] if more > 0 else lines
        sketch.edge(sketch.vertex("constant", *shown), place)


def _edges(sketch: _Sketch, call: GraphTrace, node: Any, places: dict[Any, int], inputs: dict[str, int]) -> set[str]:
    """Add the edges of a node to its ``next_functions``; returns the inputs among those."""
    reached, gradients = set(), call.gradients.get(node)
    rest: dict[tuple[str, str], list[tuple[_Back, str]]] = {}
    drawn = 0
    for place, (before, _) in enumerate(node.next_functions):
        if before is None:
            continue
        gradient = gradients[place] if gradients is not None and place < len(gradients) else None
        back: _Back = "nothing" if gradients is None else "none" if gradient is None else "gradient"
        label = _short(gradient) if gradient is not None else ""
        known = before in call.input_copies or before in places
        drawn += known
        if not known or drawn > _EDGES:
            what = "a leaf of its own" if is_accumulate_grad(before) else "more"
            rest.setdefault((what, one_line(type(before).__name__)), []).append((back, label))
        elif before in call.input_copies:
            reached.add(call.input_copies[before])
            sketch.edge(inputs[call.input_copies[before]], places[node], back, label)
        else:
            sketch.edge(places[before], places[node], back, label)
    _rest(sketch, rest, places[node])
    return reached


def _rest(sketch: _Sketch, rest: dict[tuple[str, str], list[tuple[_Back, str]]], place: int) -> None:
    """Edges to nodes that are not drawn: one vertex for each kind."""
    for (what, node), found in rest.items():
        several = {"more": f"{len(found)} more", "a leaf of its own": f"{len(found)} leaves"}[what]
        back, label = next((each for each in found if each[0] == "gradient"), found[0])
        vertex = sketch.vertex("more", what if len(found) == 1 else several, node=node)
        sketch.edge(vertex, place, back, label)


def _outputs(sketch: _Sketch, call: GraphTrace, places: dict[Any, int], inputs: dict[str, int]) -> set[str]:
    reached, unseen = set(), None
    for name, out in call.outputs.items():
        if not isinstance(out, torch.Tensor):
            continue
        place = sketch.vertex("output", *_titled(name, out))
        differentiated = call.grad_output is not None and name == call.section.of
        back: _Back = "gradient" if differentiated else "nothing"
        label = _short(call.grad_output) if differentiated and call.grad_output is not None else ""
        if out.grad_fn in call.input_copies:
            reached.add(call.input_copies[out.grad_fn])
            sketch.edge(inputs[call.input_copies[out.grad_fn]], place, back, label)
            continue
        source = places.get(out.grad_fn, _silent_source(call, out, places))
        if source is None:
            # There is no graph: only that the op was called is known.
            unseen = _unseen(sketch, call, inputs) if unseen is None else unseen
            source = unseen
        sketch.edge(source, place, back, label)
    return reached


def _silent_source(call: GraphTrace, out: torch.Tensor, places: dict[Any, int]) -> int | None:
    """The vertex of the Function that returned an output without a gradient."""
    for record in call.recorder.calls:
        if any(each is out for each in record.outputs) and record.node in places:
            return places[record.node]
    return None


def _unseen(sketch: _Sketch, call: GraphTrace, inputs: dict[str, int]) -> int:
    place = sketch.vertex("function", one_line(call.section.op.function.__name__))
    for source in inputs.values():
        sketch.edge(source, place)
    for record in call.recorder.calls[:1]:
        _constants(sketch, record, place)
    return place


def _placed(sketch: _Sketch, more: bool) -> Picture:
    last = [i for i, (kind, *_) in enumerate(sketch.vertices) if kind == "output"]
    points, paths = sugiyama_layout(len(sketch.vertices), [(a, b) for a, b, *_ in sketch.edges], last)
    vertices = tuple(_Vertex(*each, *points[i]) for i, each in enumerate(sketch.vertices))
    edges = tuple(_Edge(*each, tuple(path)) for each, path in zip(sketch.edges, paths, strict=True))
    return Picture(vertices, edges, more)


def _titled(name: str, tensor: torch.Tensor) -> tuple[str, ...]:
    """The name, and on a second line the shape, if not of one element, and the dtype, if not floating point."""
    shape = shape_as_list(tensor.shape) if tensor.numel() != 1 else ""
    kind = "" if tensor.is_floating_point() else dtype_name(tensor.dtype)
    return (name, *filter(None, [" ".join(filter(None, (shape, kind)))]))


def _constant(name: str, value: Any) -> str:
    found = value_summary(value)
    if found.shape is not None and found.text.count(","):
        return f"{name}: {shape_as_list(found.shape)}"
    return f"{name} = {found.text}"


def _short(gradient: ValueSummary) -> str:
    """The number, or the shape if there are several."""
    single = gradient.shape is not None and all(size == 1 for size in gradient.shape)
    return gradient.text if single else shape_as_list(gradient.shape or ())


def _forward_name(node: str) -> str:
    """The operation by the name of its node: ``MulBackward0`` is ``mul``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", _SUFFIX.sub("", node)).lower() or node


_SWEEPS = 4


def sugiyama_layout(
    count: int, edges: Sequence[tuple[int, int]], last: Sequence[int]
) -> tuple[list[Point], list[list[Point]]]:
    """The position of each of ``count`` vertices, and for each edge the points at which it crosses the layers between.

    A source is placed in the layer just before its first successor; ``last`` are placed in the last layer. Rows are
    sorted by the mean row of the neighbours (barycentre heuristic), in sweeps to and fro. ``edges`` must be acyclic.
    Source: Sugiyama, Tagawa and Toda, “Methods for visual understanding of hierarchical system structures”, 1981.
    """
    layer = _layers(count, edges, last)
    ends, passed = list(edges), list[list[int]]()
    links: list[tuple[int, int]] = []
    for source, target in ends:
        chain = [source]
        for between in range(layer[source] + 1, layer[target]):
            layer.append(between)
            chain.append(len(layer) - 1)
        passed.append(chain[1:])
        links += list(zip(chain, [*chain[1:], target], strict=True))
    rows = _rows(layer, links)
    points = [(layer[i], rows[i]) for i in range(len(layer))]
    return points[:count], [[points[i] for i in chain] for chain in passed]


def _layers(count: int, edges: Sequence[tuple[int, int]], last: Sequence[int]) -> list[int]:
    layer = [0] * count
    for _ in range(count):
        moved = [(b, layer[a] + 1) for a, b in edges if layer[b] <= layer[a]]
        if not moved:
            break
        for target, least in moved:
            layer[target] = max(layer[target], least)
    sources = {b for _, b in edges}
    for vertex in range(count):
        after = [layer[b] for a, b in edges if a == vertex]
        if vertex not in sources and after and vertex not in last:
            layer[vertex] = min(after) - 1
    for vertex in last:
        layer[vertex] = max(layer)
    return layer


def _rows(layer: Sequence[int], links: Sequence[tuple[int, int]]) -> list[float]:
    order = [[i for i, each in enumerate(layer) if each == level] for level in range(max(layer, default=0) + 1)]
    rows = [0.0] * len(layer)
    _number(order, rows)
    before, after = [list[int]() for _ in layer], [list[int]() for _ in layer]
    for source, target in links:
        before[target].append(source)
        after[source].append(target)
    for sweep in range(_SWEEPS):
        neighbours = before if sweep % 2 == 0 else after
        for level in order if sweep % 2 == 0 else order[::-1]:
            level.sort(key=lambda i: (_mean(rows, neighbours[i], rows[i]), rows[i]))
            _number([level], rows)
    return rows


def _number(order: Sequence[Sequence[int]], rows: list[float]) -> None:
    for level in order:
        for place, vertex in enumerate(level):
            rows[vertex] = place - (len(level) - 1) / 2


def _mean(rows: Sequence[float], some: Sequence[int], otherwise: float) -> float:
    return sum(rows[i] for i in some) / len(some) if some else otherwise
