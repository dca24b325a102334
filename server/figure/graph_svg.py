"""The autograd graph around one call as SVG: forward as lines, gradients that came back as dots, constants dashed.

It is coloured by css/views/node.css. Layers go from left to right, or from top to bottom where the page is narrow.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from markupsafe import Markup

from ..documents.panel_tables import graph_words
from ..schema.views import NodeRecord, Sent
from .svg_elements import AttributeValue, escape_xml, svg_element, text_width

_EDGE = 12  # pixels around the picture
_HEAD = 5  # of an arrow
_SIZES = {"called": 13.0, "node": 11.0}  # of texts, as in node.css
_PAD = 9  # inside a box
_LINE = 17  # from one line of a text to the next
_LANE = 26  # from one edge to the next beside it, where they meet a box
_APART = 16  # between neighbours in a layer
_BESIDE = 4  # how far the way forward and the way back are from the middle of an edge
_ALONG, _DOWN = 84, 46  # from layer to layer, with room for what stands beside an edge
_BARE = ("input", "output")  # vertices without a box

_Edges = list[Sent]
_End = Literal["source", "target"]


@dataclass
class _Item:
    """A box, or the place where an edge passes a layer; along the layers and across them."""

    layer: int
    row: float
    width: float = 0.0
    height: float = 0.0
    x: float = 0.0
    y: float = 0.0

    def size(self, down: bool, across: bool) -> float:
        return self.width if down == across else self.height

    def place(self, down: bool, along: float, across: float) -> None:
        self.x, self.y = (across, along) if down else (along, across)


@dataclass(frozen=True)
class _Box:
    item: _Item
    kind: str
    texts: tuple[tuple[str, str, float], ...]  # text, role and height below the middle


_Point = tuple[float, float]


def graph_svg(answer: NodeRecord, down: bool) -> Markup:
    """The picture of an answer to ``view=node``; empty where there is nothing to draw."""
    vertices, edges = answer["vertices"], answer["edges"]
    if not vertices:
        return Markup("")
    boxes = [_box(vertex, _lanes(edges, i), down) for i, vertex in enumerate(vertices)]
    passes = [[_Item(layer, row) for layer, row in edge["path"]] for edge in edges]
    width, height = _arrange([box.item for box in boxes] + [each for way in passes for each in way], down)
    ways = _ways(edges, boxes, passes, down)
    drawn = [_flow(edge, vertices[edge["source"]]["kind"], way, down) for edge, way in zip(edges, ways, strict=True)]
    drawn += [_vertex(box) for box in boxes]
    drawn += [_label(edge, way, down) for edge, way in zip(edges, ways, strict=True) if edge["back"] != "nothing"]
    full = (width + 2 * _EDGE, height + 2 * _EDGE)
    shape = {"viewBox": f"{-_EDGE} {-_EDGE} {full[0]:g} {full[1]:g}", "width": f"{full[0]:g}", "height": f"{full[1]:g}"}
    named = {"class": "graph", "role": "img", "aria-label": graph_words(answer)}
    heads = svg_element("defs", {}, _arrow("forward"), _arrow("backward"))
    return svg_element("svg", shape | named, heads, *drawn)


def _lanes(edges: _Edges, vertex: int) -> int:
    """How many edges a vertex has on its busier side."""
    return max(sum(edge["source"] == vertex for edge in edges), sum(edge["target"] == vertex for edge in edges))


def _box(vertex: Sent, lanes: int, down: bool) -> _Box:
    bare = vertex["kind"] in _BARE
    kind = re.split(r"(?<=[a-z])(?=[A-Z])", vertex["node"]) if down and bare else [vertex["node"]]
    lines = [(text, "called") for text in vertex["lines"]] + [(text, "node") for text in kind if text]
    first = -_LINE * (len(lines) - 1) / 2
    texts = tuple((text, role, first + _LINE * i) for i, (text, role) in enumerate(lines))
    width = max(text_width(text, _SIZES[role], "code") for text, role in lines) + (8 if bare else 2 * _PAD)
    height = _LINE * len(lines) + (6 if bare else _PAD)
    needed = _LANE * lanes
    size = (max(width, needed), height) if down else (width, max(height, needed))
    return _Box(_Item(vertex["layer"], vertex["row"], *size), vertex["kind"], texts)


def _arrange(items: list[_Item], down: bool) -> tuple[float, float]:
    """Give every item its place; returns the size of the whole."""
    layers = [[each for each in items if each.layer == level] for level in range(max(i.layer for i in items) + 1)]
    wide, at = max(_extent(layer, down) for layer in layers), 0.0
    for level, layer in enumerate(layers):
        deep = max((each.size(down, across=False) for each in layer), default=0.0)
        beside = (wide - _extent(layer, down)) / 2
        for each in sorted(layer, key=lambda item: item.row):
            each.place(down, at + deep / 2, beside + each.size(down, across=True) / 2)
            beside += each.size(down, across=True) + _APART
        at += deep + (0 if level + 1 == len(layers) else _DOWN if down else _ALONG)
    return (wide, at) if down else (at, wide)


def _extent(layer: list[_Item], down: bool) -> float:
    return sum(each.size(down, across=True) for each in layer) + _APART * (len(layer) - 1)


def _ways(edges: _Edges, boxes: list[_Box], passes: list[list[_Item]], down: bool) -> list[list[_Point]]:
    """The points of every edge: from the side of its source through the layers between to the side of its target."""

    def cross(item: _Item) -> float:
        return item.x if down else item.y

    def beyond(end: str, i: int) -> float:
        far = boxes[edges[i]["target" if end == "source" else "source"]].item
        return cross(([*passes[i], far] if end == "source" else [far, *passes[i]])[0 if end == "source" else -1])

    def side(box: _Box, shift: float, sign: int) -> _Point:
        item = box.item
        return (
            (item.x + shift, item.y + sign * item.height / 2)
            if down
            else (item.x + sign * item.width / 2, item.y + shift)
        )

    starts, ends = _ports(edges, "source", beyond), _ports(edges, "target", beyond)
    return [
        [
            side(boxes[edge["source"]], starts[i], 1),
            *((each.x, each.y) for each in passes[i]),
            side(boxes[edge["target"]], ends[i], -1),
        ]
        for i, edge in enumerate(edges)
    ]


def _ports(edges: _Edges, end: _End, beyond: Callable[[_End, int], float]) -> list[float]:
    """How far from the middle of its box each edge begins or ends, in the order of where the other ends lie."""
    shifts, by_box = [0.0] * len(edges), defaultdict(list)
    for i, edge in enumerate(edges):
        by_box[edge[end]].append(i)
    for mine in by_box.values():
        for place, i in enumerate(sorted(mine, key=lambda i: (beyond(end, i), i))):
            shifts[i] = _LANE * (place - (len(mine) - 1) / 2)
    return shifts


def _flow(edge: Sent, source: str, points: list[_Point], down: bool) -> Markup:
    """An edge: the way forward, and beside it the way back, if backward went it."""
    forward = {"marker-end": "url(#forward-head)"}
    if source == "constant" or edge["back"] == "nothing":
        return _way("way constant" if source == "constant" else "way", 0, points, down, forward)
    came = edge["back"] == "gradient"
    dots = {"marker-end": "url(#backward-head)"} if came else {}
    back = _way("way back" if came else "way back none", _BESIDE, points[::-1], down, dots)
    return _way("way", -_BESIDE, points, down, forward) + back


def _way(role: str, aside: float, points: list[_Point], down: bool, ending: dict[str, str]) -> Markup:
    """A smooth path, ``aside`` pixels to one side of the points; it leaves and arrives straight."""
    moved = [(x + aside, y) if down else (x, y + aside) for x, y in points]
    return svg_element("path", {"class": role, "d": "".join(_bends(moved, down))} | ending)


def _bends(points: list[_Point], down: bool) -> Iterator[str]:
    yield f"M{points[0][0]:g} {points[0][1]:g}"
    for (x0, y0), (x, y) in pairwise(points):
        bend = (y - y0) / 2 if down else (x - x0) / 2
        c, d = ((x0, y0 + bend), (x, y - bend)) if down else ((x0 + bend, y0), (x - bend, y))
        yield f"C{c[0]:g} {c[1]:g} {d[0]:g} {d[1]:g} {x:g} {y:g}"


def _label(edge: Sent, points: list[_Point], down: bool) -> Markup:
    """What came back, beside the middle of the edge."""
    i = max(1, len(points) // 2)
    (x0, y0), (x, y) = points[i - 1], points[i]
    dx, dy = (_BESIDE + 7, 4) if down else (0, _BESIDE + 14)
    came = edge["back"] == "gradient"
    role, text = ("label", edge["label"]) if came else ("label none", "None")
    return _text(text, role, (x0 + x) / 2 + dx, (y0 + y) / 2 + dy, "start" if down else "middle")


def _vertex(box: _Box) -> Markup:
    item = box.item
    frame = {"x": item.x - item.width / 2, "y": item.y - item.height / 2, "width": item.width, "height": item.height}
    inside = [] if box.kind in _BARE else [svg_element("rect", frame | {"rx": 5})]
    inside += [_text(text, role, item.x, item.y + below + 4, "middle") for text, role, below in box.texts]
    return svg_element("g", {"class": f"vertex {box.kind}"}, *inside)


def _text(text: str, role: str, x: float, y: float, anchor: str) -> Markup:
    return svg_element("text", {"x": x, "y": y, "class": role, "text-anchor": anchor}, escape_xml(text))


def _arrow(role: str) -> Markup:
    """The marker of an arrow that is as large as its lines are thick."""
    size = 1.6 * _HEAD
    shape: dict[str, AttributeValue] = {"id": f"{role}-head", "orient": "auto", "markerUnits": "userSpaceOnUse"}
    shape |= {"viewBox": f"0 0 {_HEAD} {_HEAD}", "markerWidth": size, "markerHeight": size}
    shape |= {"refX": _HEAD - 0.5, "refY": _HEAD / 2}
    head = svg_element("path", {"d": f"M0 0L{_HEAD} {_HEAD / 2}L0 {_HEAD}Z", "class": f"head-{role}"})
    return svg_element("marker", shape, head)
