"""The figure as a stand-alone SVG that can be printed: title, verdict, legend, panels, parameters."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from ..documents.typography import exact_number, typeset_powers, typeset_sentence
from ..protocol.frames import Frame
from ..url.address import Address, value_text
from ..url.parse import HEIGHT_BOUNDS, WIDTH_BOUNDS
from .colours import dark_scheme_rules, palette
from .font_metrics import text_width, truncated_text
from .panels import draw_panels, lay_out_panels
from .scene import Scene, build_scene
from .sheet_layout import APART, CLOSE, HEAD, ICON_WIDTH, LINE, TITLE, VERDICT_SIZE, Sheet, lay_out_sheet
from .svg_elements import FONT_FAMILIES, Pen, escape_xml
from .verdict_icon import verdict_icon


def _asked(answer: Frame) -> str:
    """The footer: every parameter that the curves depend on, but for inputs of several elements."""
    header = answer.header
    held = {name: values[0] for name, values in header["inputs"].items() if len(values) == 1}
    choices = {**header["parameters"], **held, "grad_output": header["grad_output"]}
    named = [f"{name} = {value_text(value, exact_number)}" for name, value in choices.items() if name != header["wrt"]]
    order = " · second derivative" if header["order"] == 2 else ""
    return f"{', '.join(named)}{order} · {header['dtype']} on {header['device']['kind']}"


SHEET_SIZE = (1200, 900)
_LARGE, _TINY = 1.4, 0.72  # the title and the last line, in units
_NAME = "Gradloupe"
_LONGEST = 2000  # letters of a description


def figure_svg(answer: Frame, address: Address) -> bytes:
    """The picture of ``answer``, of the size, theme and layout that ``address`` asks for."""
    return sheet_text(answer, address, SHEET_SIZE, address.theme).encode("utf-8", "replace")


def sheet_text(answer: Frame, address: Address, size: tuple[int, int], theme: str) -> str:
    """The text of the SVG; ``size`` is the default where the address gives none."""
    drawn, pen = build_scene(answer, address.layout), Pen(palette(theme))
    page = lay_out_sheet(drawn, *_sides(address, size), address.hide)
    style = [pen.draw("style", {}, dark_scheme_rules())] if theme == "auto" else []
    box: dict[str, str | float] = {
        "xmlns": "http://www.w3.org/2000/svg",
        "width": page.width,
        "height": page.height,
        "viewBox": f"0 0 {page.width:g} {page.height:g}",
        "font-family": FONT_FAMILIES["text"],
        "role": "img",
        "aria-labelledby": "title description",
    }
    paper = pen.draw("rect", {"width": "100%", "height": "100%"}, fill="paper")
    shapes = [*_above(pen, drawn, page), *_figure(pen, drawn, page), *_below(pen, answer, page)]
    return str(pen.draw("svg", box, *_said(pen, drawn), *style, paper, *shapes))


def _sides(address: Address, size: tuple[int, int]) -> tuple[int, int]:
    """Width and height; one that is not given follows from the other by the ratio of ``size``."""
    wide, high = address.width, address.height
    if wide:
        return wide, high or _within(HEIGHT_BOUNDS, wide * size[1] / size[0])
    return (_within(WIDTH_BOUNDS, high * size[0] / size[1]), high) if high else size


def _within(bounds: tuple[int, int], length: float) -> int:
    return max(bounds[0], min(bounds[1], round(length)))


def _said(pen: Pen, drawn: Scene) -> Iterator[Markup]:
    """Title and description of the SVG, for screen readers."""
    section = drawn.section
    yield pen.draw("title", {"id": "title"}, escape_xml(f"{section.title}: {section.word}"))
    panels = f"{section.nouns.of} and its gradient with respect to {section.wrt}"
    said = f"{panels}, from {section.start:g} to {section.stop:g}. {section.sentence[:_LONGEST]}"
    yield pen.draw("desc", {"id": "description"}, escape_xml(typeset_powers(typeset_sentence(said))))


def _above(pen: Pen, drawn: Scene, page: Sheet) -> Iterator[Markup]:
    """The title and the verdict."""
    unit, y = page.unit, page.pad
    if page.parts.title:
        title = truncated_text(drawn.section.title, page.width - 2 * page.pad, _LARGE * unit, "bold")
        yield pen.write(title, page.pad, y + 1.2 * unit, _LARGE * unit, "bold")
        y += TITLE * unit
    size = VERDICT_SIZE * unit
    for row, text in enumerate(page.lines):
        base, x = y + (LINE * row + 0.9) * unit, page.pad
        inside = [escape_xml(text)]
        if row == 0:
            word = drawn.section.word
            yield verdict_icon(pen, word, x, base - 0.84 * unit, 1.1 * unit)
            x += ICON_WIDTH * unit
            bold = escape_xml(f"{word[:1].upper()}{word[1:]}.")
            inside = [pen.draw("tspan", {"font-weight": "bold"}, bold, fill="ink"), Markup(" "), *inside]
        yield pen.draw("text", {"x": x, "y": base, "font-size": size}, *inside, fill="muted")


def _figure(pen: Pen, drawn: Scene, page: Sheet) -> Iterator[Markup]:
    """The panels, each below its axis title and its legend."""
    unit, size = page.unit, page.small
    y = page.pad + (TITLE * page.parts.title + LINE * len(page.lines)) * unit
    tops = []
    for head in page.heads:
        y += APART * unit
        yield pen.write("↑ ", page.pad, y + unit, size, "code", fill="muted")
        yield pen.write(head.words, page.pad + text_width("↑ ", size, "code"), y + unit, size, "code")
        for row in head.rows:
            for x, sample in row:
                left, middle = page.pad + x, y + unit - 0.32 * size
                yield sample.draw(pen, left, middle, size)
                yield pen.write(sample.words, left + sample.room(size) - text_width(sample.words, size), y + unit, size)
            y += HEAD * unit
        y += CLOSE * unit
        tops.append(y)
        y += page.each * unit
    edges = (page.pad, page.width - page.pad)
    placed = lay_out_panels(drawn, edges, tuple(tops), page.each * unit, unit, size)
    yield from draw_panels(pen, placed, page.parts.name)


def _below(pen: Pen, answer: Frame, page: Sheet) -> Iterator[Markup]:
    """The footer: parameters on the left, the name of the app on the right."""
    if not page.parts.foot:
        return
    size, y = _TINY * page.unit, page.height - 0.85 * page.unit
    room = page.width - 2 * page.pad - text_width(_NAME, size) - 2 * size
    yield pen.write(truncated_text(_asked(answer), room, size), page.pad, y, size, fill="muted")
    yield pen.write(_NAME, page.width - page.pad, y, size, fill="muted", anchor="end")
