"""Figures as SVG inside a page: curves, shown before, or without, any script in the place where plotly draws, and
closer looks.

Their parts lie in the grid of css/figure.css, so that they need to know neither width nor height: curves are stretched
with their panel (not their strokes), labels and marks are positioned by percentages. They are styled by css/figure.css.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from markupsafe import Markup

from ..protocol.answer import Answer
from .axes import Tick, fitting_labels, widest_label, without_shared_power
from .legend_keys import LegendEntry
from .palette import PAGE_PALETTE, Pen
from .panel import CELLS_WITH_NUMBERS, Canvas, Panel
from .scene import FEW, MANY, Axis, Scene
from .svg_elements import escape_xml, svg_element, text_width
from .svg_paths import PathGrid, area_path, curve_path, mark_positions
from .traces import Layer
from .view_picture import view_rows

INLINE_GRID = PathGrid(8000, 4000)
_DIAMOND, _CIRCLE = "M5.85 0 0 5.85-5.85 0 0-5.85z", "M3.5 0a3.5 3.5 0 1 1 0-.01z"
_MARKS = {
    "kinks": ("diamond", _DIAMOND),
    "kink slopes": ("diamond", _DIAMOND),
    "open ends": ("end", _CIRCLE),
    "closed ends": ("end closed", _CIRCLE),
}
_CLASSES = {"surrogate slope": "surrogate", "subgradients": "upright"}


def static_figure(drawn: Scene) -> Markup:
    """The figure of a scene, for the element of class ``still``."""
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


def stretched_panel(name: str, up: Axis, inside: Iterable[Markup], marks: Iterable[Markup]) -> Markup:
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


_PEN = Pen(PAGE_PALETTE)
_KEY = 13.0  # the font size of a legend, in pixels
_ROW, _HIGHEST = 2.4, 20.0  # rem, of a row of cells and of all of them
_LETTER = 0.75  # rem, the size of a number in a cell
_ROOMS = (12, 24, 56)  # rem, of a panel, from where on numbers are shown; as in css/views/companion.css
_APART = 1.0  # rem between labels


@dataclass(frozen=True)
class InlinePanel:
    """A panel: what it measures, its ``legend`` as drawings and words, its ``drawing``, and the ends of its y-axis."""

    words: str
    legend: tuple[tuple[Markup, str], ...]
    drawing: Markup
    low: float
    high: float
    cells: bool


def inline_panels(answer: Answer) -> list[list[InlinePanel]]:
    """The rows of panels of a view that is a figure; none where nothing was measured."""
    return [[_inline_panel(panel) for panel in row] for row in view_rows(answer)]


def _inline_panel(panel: Panel) -> InlinePanel:
    few, many, up = _labelled(panel)
    shown, power = without_shared_power(up.ticks)
    up = replace(up, ticks=shown)
    shapes = panel.inside(Canvas(_PEN, few, up, INLINE_GRID, 1.0))
    inside = [*(grid_lines(few, many, up) if panel.grid else ()), *shapes]
    drawing = _gutter(panel, up) + stretched_panel("", up, inside, _texts(panel)) + labels_below(few, many)
    words = f"{panel.words} in {power}" if power else panel.words
    return InlinePanel(words, tuple(_keys(panel.legend)), drawing, *up.span, bool(panel.rows))


def _gutter(panel: Panel, up: Axis) -> Markup:
    """The room beside cells for their names, as high as their rows want to be."""
    if not panel.rows:
        return Markup("")
    wide, high = widest_label(up.ticks) * 1.15 + 0.6, min(_HIGHEST, _ROW * panel.rows)
    return svg_element("svg", {"class": "gutter", "width": f"{wide:.2f}rem", "height": f"{high:.2f}rem"})


def _texts(panel: Panel) -> Iterator[Markup]:
    """What stands over the shapes, where there is room for all of it."""
    if panel.texts and panel.cells[0] <= CELLS_WITH_NUMBERS:
        widest = max(text_width(text, _LETTER) for _, _, text, _ in panel.texts) + _LETTER / 2
        room = next((each for each in _ROOMS if each >= widest * panel.cells[0]), _ROOMS[-1])
        yield svg_element("g", {"class": f"numbers from-{room}"}, *(_cell_text(*each) for each in panel.texts))


def _cell_text(x: float, y: float, text: str, colour: str) -> Markup:
    return _PEN.draw("text", {"x": percent(x), "y": percent(1 - y)}, escape_xml(text), fill=colour)


def _labelled(panel: Panel) -> tuple[Axis, Axis, Axis]:
    """The x-axis with few labels and with many, and the y-axis."""
    few, many = (
        _without_touching(replace(panel.across, ticks=fitting_labels(panel.labels_below, *room)), room[1])
        for room in (FEW, MANY)
    )
    return few, many, replace(panel.up, ticks=panel.labels_beside(panel.levels))


def _without_touching(axis: Axis, room: float) -> Axis:
    """The axis without labels that would touch one before them on ``room`` rem, those that say 0 first of all."""
    kept: list[Tick] = []
    for tick in sorted(axis.ticks, key=lambda tick: (abs(tick.value), tick.value)):
        wide = widest_label((tick,))
        others = ((abs(axis.share(each.value) - axis.share(tick.value)), widest_label((each,))) for each in kept)
        if all(distance * room > (wide + other) / 2 + _APART / 2 for distance, other in others):
            kept.append(tick)
    return replace(axis, ticks=tuple(sorted(kept, key=lambda tick: tick.value)))


def _keys(legend: tuple[LegendEntry, ...]) -> Iterator[tuple[Markup, str]]:
    for each in legend:
        width = each.length * _KEY
        box = {
            "viewBox": f"0 0 {width:g} {_KEY:g}",
            "width": f"{width:g}",
            "height": f"{_KEY:g}",
            "aria-hidden": "true",
        }
        yield svg_element("svg", box, each.draw(_PEN, 0.0, _KEY / 2, _KEY)), each.words
