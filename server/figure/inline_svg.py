"""The figure as SVG inside a page, shown before, or without, any script: in the place where plotly draws, at any size.

Its parts lie in the grid of css/figure.css, so that it needs to know neither width nor height: curves are stretched
with their panel (not their strokes), labels and marks are positioned by percentages. It is styled by css/figure.css.
"""

from collections.abc import Iterable, Iterator

from markupsafe import Markup

from ..protocol.answer import CurvesAnswer
from .axis_range import AxisRanges
from .axis_ticks import Tick
from .scene import Axis, Scene, build_scene
from .svg_elements import escape_xml, svg_element
from .svg_paths import PathGrid, area_path, curve_path, mark_positions
from .traces import Layer

INLINE_GRID = PathGrid(8000, 4000)
_DIAMOND, _CIRCLE = "M5.85 0 0 5.85-5.85 0 0-5.85z", "M3.5 0a3.5 3.5 0 1 1 0-.01z"
_MARKS = {
    "kinks": ("diamond", _DIAMOND),
    "kink slopes": ("diamond", _DIAMOND),
    "open ends": ("end", _CIRCLE),
    "closed ends": ("end closed", _CIRCLE),
}
_CLASSES = {"surrogate slope": "surrogate", "subgradients": "upright"}


def static_figure(answer: CurvesAnswer, layout: str, held: AxisRanges | None = None) -> Markup:
    """The figure of ``answer``, for the element of class ``still``; ``held`` are the ranges of the y-axes, if given."""
    drawn = build_scene(answer, layout, held)
    gutter = svg_element("svg", {"class": "gutter", "width": f"{drawn.left:g}rem", "height": "1"})
    panels = [_panel(drawn, up, name) for up, name in ((drawn.upper, "upper"), (drawn.lower, "lower")) if up]
    return Markup("").join([gutter, *panels, labels_below(drawn.few, drawn.many)])


def _panel(drawn: Scene, up: Axis, name: str) -> Markup:
    """A panel: the curves, clipped at its edges, and above them the labels and marks, which are not clipped."""
    layers = [layer for layer in drawn.layers if drawn.axis(layer) is up]
    inside = [
        *_stripes(drawn),
        *(_bars(drawn) if up is drawn.upper else ()),
        *grid_lines(drawn.few, drawn.many, up),
        _path("zero", _upright(drawn.few, 0.0) + _level(up, 0.0)),
        *(_curve(drawn, up, layer) for layer in layers),
    ]
    return stretched_panel(name, up, inside, [mark for layer in layers for mark in _marks(drawn, up, layer)])


def stretched_panel(name: str, up: Axis, inside: Iterable[Markup], marks: Iterable[Markup] = ()) -> Markup:
    """What is ``inside`` a panel, drawn on ``INLINE_GRID``, and above it the labels of its y-axis and marks."""
    box = f"0 0 {INLINE_GRID.width:g} {INLINE_GRID.height:g}"
    cut = {"class": f"panel {name}".rstrip(), "viewBox": box, "preserveAspectRatio": "none"}
    labels = [_text({"y": percent(1 - up.share(tick.value))}, tick) for tick in up.ticks]
    return svg_element("svg", cut, *inside) + svg_element("svg", {"class": f"labels {name}".rstrip()}, *labels, *marks)


def _stripes(drawn: Scene) -> Iterator[Markup]:
    for low, high in drawn.stripes:
        left, right = (INLINE_GRID.x(drawn.few.share(end)) for end in (low, high))
        size = {"x": left, "width": right - left, "height": INLINE_GRID.height}
        yield svg_element("rect", {"class": "stripe", "opacity": drawn.opacity, **size})


def _bars(drawn: Scene) -> Iterator[Markup]:
    """The numbers of a step, from the bottom of the panel."""
    for low, high, share in drawn.section.seen:
        left, right = (INLINE_GRID.x(drawn.few.share(end)) for end in (low, high))
        height = share * INLINE_GRID.height
        size = {"x": left, "width": right - left, "y": INLINE_GRID.height - height, "height": height}
        yield svg_element("rect", {"class": "seen", **size})


def grid_lines(few: Axis, many: Axis, up: Axis) -> Iterator[Markup]:
    """The lines of the grid."""
    yield _path("grid", "".join(_level(up, tick.value) for tick in up.ticks))
    for name, across in _widths(few, many):
        upright = "".join(_upright(across, tick.value) for tick in across.ticks)
        yield _path(f"grid {name}".rstrip(), upright)


def _level(up: Axis, value: float) -> str:
    return f"M0 {INLINE_GRID.y(up.share(value)):g}H{INLINE_GRID.width:g}" if up.inside(value) else ""


def _upright(across: Axis, value: float) -> str:
    return f"M{INLINE_GRID.x(across.share(value)):g} 0V{INLINE_GRID.height:g}" if across.inside(value) else ""


def _curve(drawn: Scene, up: Axis, layer: Layer) -> Markup:
    if layer.shape == "area":
        return _path("band", area_path(layer, drawn.few, up, INLINE_GRID))
    if layer.shape != "line":
        return Markup("")
    return _path(f"line {_CLASSES.get(layer.name, layer.name)}", curve_path(layer, drawn.few, up, INLINE_GRID))


def _marks(drawn: Scene, up: Axis, layer: Layer) -> Iterator[Markup]:
    if layer.name not in _MARKS:
        return
    name, d = _MARKS[layer.name]
    for x, y in mark_positions(layer, drawn.few, up):
        yield svg_element("svg", {"x": percent(x), "y": percent(1 - y)}, _path(name, d))


def labels_below(few: Axis, many: Axis) -> Markup:
    """The labels and the name of the x-axis."""
    groups = []
    for name, across in _widths(few, many):
        labels = [_text({"x": percent(across.share(tick.value))}, tick) for tick in across.ticks]
        groups += [svg_element("g", {"class": name}, *labels)] if name else labels
    title = svg_element("text", {"class": "title", "x": "50%"}, escape_xml(few.words))
    return svg_element("svg", {"class": "labels below"}, *groups, title)


def _widths(few: Axis, many: Axis) -> list[tuple[str, Axis]]:
    """The x-axis with its few or many labels, by the class for the widths of the page at which each is shown."""
    return [("", few)] if few.ticks == many.ticks else [("few", few), ("many", many)]


def _path(name: str, d: str) -> Markup:
    return svg_element("path", {"class": name, "d": d}) if d else Markup("")


def _text(place: dict[str, str], tick: Tick) -> Markup:
    return svg_element("text", place, escape_xml(tick.text))


def percent(share: float) -> str:
    """A share as an attribute has it."""
    return f"{100 * share:.3f}".rstrip("0").rstrip(".") + "%"
