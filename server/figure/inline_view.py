"""A closer look inside a page: the panels of its picture, which need to know neither width nor height."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from markupsafe import Markup

from ..protocol.answer import Answer
from .axis_ticks import Tick, fitting_labels, widest_label, without_shared_power
from .font_metrics import text_width
from .inline_svg import INLINE_GRID, grid_lines, labels_below, percent, stretched_panel
from .legend_keys import LegendEntry
from .palette import PAGE_PALETTE, Pen
from .panel import CELLS_WITH_NUMBERS, Canvas, Panel
from .scene import FEW, MANY, Axis
from .svg_elements import escape_xml, svg_element
from .view_picture import view_rows

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
    return [[_panel(panel) for panel in row] for row in view_rows(answer)]


def _panel(panel: Panel) -> InlinePanel:
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
        yield svg_element("g", {"class": f"numbers from-{room}"}, *(_text(*each) for each in panel.texts))


def _text(x: float, y: float, text: str, colour: str) -> Markup:
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
