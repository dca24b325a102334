"""A closer look as a stand-alone SVG: title, what was found, rows of panels, each with its legend and its axes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from markupsafe import Markup

from ..documents.typography import typeset_powers, typeset_sentence
from ..url.address import Address
from .axis_ticks import Tick
from .font_metrics import text_width, truncated_text, wrapped_lines
from .legend_keys import LegendEntry, legend_rows
from .palette import Pen
from .scene import Axis
from .sheet_layout import APART, CLOSE, HEAD, LINE, TITLE, VERDICT_SIZE
from .svg_paths import PathGrid

_UNIT, _COLUMNS, _ROWS, _PAD, _BOTTOM = 10.0, 50, 26, 1.1, 0.75
_SMALL, _TITLE_SIZE, _FOOTER_SIZE, _BELOW, _FOOT, _GAP = 0.8, 1.4, 0.72, 2.7, 1.3, 1.6
_LEAST = 4.6  # the height of a panel, in units, for which sentences are left out
_PIXELS = 15.0

CELLS_WITH_NUMBERS = 8  # in a row, at most
Shapes = Callable[[Pen, PathGrid, float], Iterator[Markup]]


@dataclass(frozen=True)
class ViewPanel:
    """A panel: the words above it, its axes, and what is drawn: ``inside``, clipped at its edges, and ``above`` that.

    ``fit`` gives an axis the labels for which there is room, at most so many; beside a panel on a page are ``levels``.
    ``texts`` stand over all that: where, as shares of the panel from the left and from below, what, and their colour.
    They are left out where one does not fit into its share of the panel, 1 / ``cells``. One with ``rows`` is so high on
    a page as these want to be.
    """

    words: str
    across: Axis
    up: Axis
    inside: Shapes
    legend: tuple[LegendEntry, ...] = ()
    above: Shapes | None = None
    grid: bool = True
    fit: tuple[Callable[[int], tuple[Tick, ...]], Callable[[int], tuple[Tick, ...]]] | None = None
    levels: int = 3
    texts: tuple[tuple[float, float, str, str], ...] = ()
    cells: tuple[int, int] = (1, 1)
    rows: int = 0


@dataclass(frozen=True)
class ViewPicture:
    """What is drawn of a view; ``footer`` says the parameters that it depends on."""

    title: str
    sentence: str
    rows: tuple[tuple[ViewPanel, ...], ...]
    footer: str


@dataclass(frozen=True)
class _Box:
    """The room of a panel with all around it, and where its own top is."""

    left: float
    top: float
    right: float
    high: float


def view_shapes(pen: Pen, picture: ViewPicture, width: int, height: int, address: Address) -> Iterator[Markup]:
    """The elements of the picture, in this size; where space is short, sentences are left out."""
    unit = max(_UNIT, min(width / _COLUMNS, height / _ROWS))
    pad, y = _PAD * unit, _PAD * unit
    if "title" not in address.hide:
        size = _TITLE_SIZE * unit
        yield pen.write(
            truncated_text(picture.title, width - 2 * pad, size, "bold"), pad, y + size * 0.86, size, "bold"
        )
        y += TITLE * unit
    foot = _FOOT * unit if "controls" not in address.hide else 0.0
    end = height - _BOTTOM * unit - foot
    wide = [(width - 2 * pad - (len(row) - 1) * _GAP * unit) / len(row) for row in picture.rows]  # each panel
    heads = [
        max(_head(panel, address, unit, room) for panel in row) for row, room in zip(picture.rows, wide, strict=True)
    ]
    free = end - y - sum(heads) - len(picture.rows) * (_LEAST + _BELOW) * unit
    for line in _lines(picture.sentence, width - 2 * pad, unit, free) if "verdict" not in address.hide else ():
        y += LINE * unit
        yield pen.write(line, pad, y - 0.3 * unit, VERDICT_SIZE * unit, fill="muted")
    high = (end - y - sum(heads)) / len(picture.rows) if picture.rows else 0.0
    for row, room, head in zip(picture.rows, wide, heads, strict=True):
        for i, panel in enumerate(row):
            left = pad + i * (room + _GAP * unit)
            yield from _panel(pen, panel, _Box(left, y, left + room, head + high), head, unit, address)
        y += head + high
    if foot:
        size, y = _FOOTER_SIZE * unit, height - 0.85 * unit
        room = width - 2 * pad - text_width("Gradloupe", size) - 2 * size
        yield pen.write(truncated_text(picture.footer, room, size), pad, y, size, fill="muted")
        yield pen.write("Gradloupe", width - pad, y, size, fill="muted", anchor="end")


def _lines(sentence: str, room: float, unit: float, free: float) -> list[str]:
    """As many whole sentences as there is room for."""
    found = re.split(r"(?<=[.]) ", typeset_powers(typeset_sentence(sentence)))[:8] if sentence else []
    for count in range(len(found), 0, -1):
        lines = wrapped_lines(" ".join(found[:count]), room, VERDICT_SIZE * unit)
        if len(lines) * LINE * unit <= free:
            return lines
    return []


def _rows_of_legend(
    panel: ViewPanel, address: Address, unit: float, room: float
) -> list[list[tuple[float, LegendEntry]]]:
    size = _SMALL * unit
    begin = text_width(panel.words, size, "code") + 1.6 * size
    shown = list(panel.legend) if "legend" not in address.hide else []
    return legend_rows(shown, begin, room, size)


def _head(panel: ViewPanel, address: Address, unit: float, room: float) -> float:
    return (APART + HEAD * len(_rows_of_legend(panel, address, unit, room)) + CLOSE) * unit


def _panel(pen: Pen, panel: ViewPanel, box: _Box, head: float, unit: float, address: Address) -> Iterator[Markup]:
    size, y = _SMALL * unit, box.top + APART * unit
    for i, row in enumerate(_rows_of_legend(panel, address, unit, box.right - box.left)):
        if i == 0:
            yield pen.write(panel.words, box.left, y + unit, size, "code")
        for x, sample in row:
            yield sample.draw(pen, box.left + x, y + unit - 0.32 * size, size)
            spot = box.left + x + sample.room(size) - text_width(sample.words, size)
            yield pen.write(sample.words, spot, y + unit, size)
        y += HEAD * unit
    top, high = box.top + head, box.high - head - _BELOW * unit
    panel = _labelled(panel, box.right - box.left, high, size)
    left = box.left + max((text_width(tick.text, size) for tick in panel.up.ticks), default=0.0) + 0.55 * size
    grid = PathGrid(box.right - left, high, digits=2)
    cut: dict[str, str | float] = {"x": left, "y": top, "width": grid.width, "height": high, "overflow": "hidden"}
    scale = unit / _PIXELS
    lines = _grid_lines(pen, panel, grid, scale) if panel.grid else ()
    yield pen.draw("svg", cut, *lines, *panel.inside(pen, grid, scale), *_texts(pen, panel, grid, 11.5 * scale))
    whole = replace(grid, left=left, top=top)
    for tick in panel.up.ticks:
        yield pen.write(
            tick.text,
            left - 0.55 * size,
            whole.y(panel.up.share(tick.value)) + 0.36 * size,
            size,
            fill="muted",
            anchor="end",
        )
    for tick in panel.across.ticks:
        x = whole.x(panel.across.share(tick.value))
        x -= max(0.0, x + text_width(tick.text, size) / 2 - box.right - 0.8 * unit)
        yield pen.write(tick.text, x, top + high + 1.4 * size, size, fill="muted", anchor="middle")
    yield from panel.above(pen, whole, scale) if panel.above else ()
    middle = (left + box.right) / 2
    yield pen.write(panel.across.words, middle, top + high + 2.75 * size, size * 1.05, "code", anchor="middle")


def _texts(pen: Pen, panel: ViewPanel, grid: PathGrid, size: float) -> Iterator[Markup]:
    across, up = panel.cells
    widest = max((text_width(text, size) for _, _, text, _ in panel.texts), default=0.0)
    if grid.height / up < 1.2 * size or widest + 0.5 * size > grid.width / across:
        return
    for x, y, text, colour in panel.texts:
        yield pen.write(text, grid.x(x), grid.y(y) + 0.36 * size, size, fill=colour, anchor="middle")


def _labelled(panel: ViewPanel, wide: float, high: float, size: float) -> ViewPanel:
    if panel.fit is None:
        return panel
    across, up = panel.fit
    many = max(2, min(8, int(wide / (6 * size))))
    ticks = across(many)
    while many > 1 and sum(text_width(tick.text, size) + size for tick in ticks) > wide:
        many -= 1
        ticks = across(many)
    beside = up(max(2, min(6, int(high / (2.2 * size)))))
    return replace(panel, across=replace(panel.across, ticks=ticks), up=replace(panel.up, ticks=beside))


def _grid_lines(pen: Pen, panel: ViewPanel, grid: PathGrid, scale: float) -> Iterator[Markup]:
    level = [grid.y(panel.up.share(tick.value)) for tick in panel.up.ticks if panel.up.inside(tick.value)]
    upright = [grid.x(panel.across.share(tick.value)) for tick in panel.across.ticks if panel.across.inside(tick.value)]
    d = "".join([*(f"M0 {y:g}H{grid.width:.2f}" for y in level), *(f"M{x:g} 0V{grid.height:.2f}" for x in upright)])
    if d:
        yield pen.draw("path", {"d": d, "stroke-width": max(1.0, 0.9 * scale)}, fill="none", stroke="grid")
