"""The figure as a stand-alone SVG that can be printed: title, verdict, legend, panels, parameters."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from markupsafe import Markup

from ..documents.typography import exact_number, typeset_powers, typeset_sentence
from ..protocol.answer import Answer, CurvesAnswer, curves_of
from ..schema.verdict_words import MARKS
from ..url.address import HEIGHT_BOUNDS, WIDTH_BOUNDS, Address, value_text
from .font_metrics import text_width, truncated_text
from .hidden_curves import without_hidden
from .palette import FONT_FAMILIES, Pen, dark_scheme_rules, palette
from .panels import draw_panels, lay_out_panels
from .scene import Scene, build_scene
from .sheet_layout import APART, CLOSE, HEAD, ICON_WIDTH, LINE, TITLE, VERDICT_SIZE, Sheet, lay_out_sheet
from .svg_elements import escape_xml
from .view_picture import view_picture
from .view_sheet import view_shapes

SHEET_SIZE = (1200, 900)
PREVIEW_SIZE = (1200, 630)  # pixels of a link preview (Open Graph)
_TITLE_SIZE, _FOOTER_SIZE = 1.4, 0.72  # in units
_APP_NAME = "Gradloupe"
_MAX_DESCRIPTION = 2000  # letters
_ICON_WIDTHS = {"muted": 1.8, "disagreement": 2.0}


def _verdict_icon(pen: Pen, mark: str, x: float, y: float, size: float) -> Markup:
    """The mark of a verdict in a square of ``size``."""
    scale = f"translate({x:.2f} {y:.2f}) scale({size / 16:.4f})"
    strokes = (
        pen.draw("path", {"d": d, "stroke-width": _ICON_WIDTHS.get(name, 2.4)}, fill="none", stroke=name)
        for name, d in MARKS.get(mark, ())
    )
    return pen.draw("g", {"transform": scale, "stroke-linecap": "round"}, *strokes)


def _footer_text(answer: Answer) -> str:
    """Every parameter that the curves depend on, but for inputs of several elements."""
    header = answer.header
    scalars = {name: values[0] for name, values in header["inputs"].items() if len(values) == 1}
    settings = {**header["parameters"], **scalars, "grad_output": header["grad_output"]}
    named = [f"{name} = {value_text(value, exact_number)}" for name, value in settings.items() if name != header["wrt"]]
    order = " · second derivative" if header["order"] == 2 else ""
    return f"{', '.join(named)}{order} · {header['dtype']} on {header['device']['kind']}"


def figure_svg(answer: Answer, address: Address) -> bytes:
    """The picture of ``answer``, of the size, theme and layout that ``address`` asks for."""
    return sheet_text(answer, address, SHEET_SIZE, address.theme).encode("utf-8", "replace")


def sheet_text(answer: Answer, address: Address, size: tuple[int, int], theme: str) -> str:
    """The text of the SVG; ``size`` is the default where the address gives none."""
    width, height = _dimensions(address, size)
    if answer.header["view"] != "curves":
        pen = Pen(palette(theme))
        picture = view_picture(answer, _footer_text(answer))
        words = _accessible(pen, picture.title, typeset_sentence(picture.sentence))
        return _sheet(pen, theme, (width, height), words, view_shapes(pen, picture, width, height, address))
    curves = without_hidden(curves_of(answer), address.hide)
    drawn, pen = build_scene(curves, address.layout), Pen(palette(theme))
    page = lay_out_sheet(drawn, width, height, address.hide)
    shapes = [*_above(pen, drawn, page), *_figure(pen, drawn, page), *_below(pen, curves, page)]
    return _sheet(pen, theme, (page.width, page.height), _accessible_text(pen, drawn, address.hide), shapes)


def _sheet(pen: Pen, theme: str, size: tuple[float, float], words: Iterable[Markup], shapes: Iterable[Markup]) -> str:
    """The whole SVG of this size, with the ``words`` for screen readers."""
    style = [pen.draw("style", {}, dark_scheme_rules())] if theme == "auto" else []
    box: dict[str, str | float] = {
        "xmlns": "http://www.w3.org/2000/svg",
        "width": size[0],
        "height": size[1],
        "viewBox": f"0 0 {size[0]:g} {size[1]:g}",
        "font-family": FONT_FAMILIES["text"],
        "role": "img",
        "aria-labelledby": "title description",
    }
    paper = pen.draw("rect", {"width": "100%", "height": "100%"}, fill="paper")
    return str(pen.draw("svg", box, *words, *style, paper, *shapes))


def _dimensions(address: Address, size: tuple[int, int]) -> tuple[int, int]:
    """Width and height; one that is not given follows from the other by the ratio of ``size``."""
    width, height = address.width, address.height
    if width:
        return width, height or _clamped(HEIGHT_BOUNDS, width * size[1] / size[0])
    return (_clamped(WIDTH_BOUNDS, height * size[0] / size[1]), height) if height else size


def _clamped(bounds: tuple[int, int], length: float) -> int:
    return max(bounds[0], min(bounds[1], round(length)))


def _accessible_text(pen: Pen, drawn: Scene, hide: Collection[str]) -> Iterator[Markup]:
    """Title and description of the SVG, for screen readers; without the verdict where that is hidden."""
    section = drawn.section
    word, sentence = ("", "") if "verdict" in hide else (f": {section.verdict_name}", section.sentence)
    panels = f"{section.nouns.of} and its gradient with respect to {section.wrt}"
    description = f"{panels}, from {section.start:g} to {section.stop:g}. {sentence[:_MAX_DESCRIPTION]}"
    return _accessible(pen, section.title + word, typeset_powers(typeset_sentence(description)))


def _accessible(pen: Pen, title: str, description: str) -> Iterator[Markup]:
    yield pen.draw("title", {"id": "title"}, escape_xml(title))
    yield pen.draw("desc", {"id": "description"}, escape_xml(description[:_MAX_DESCRIPTION]))


def _above(pen: Pen, drawn: Scene, page: Sheet) -> Iterator[Markup]:
    """The title and the verdict."""
    unit, y = page.unit, page.pad
    if page.parts.title:
        title = truncated_text(drawn.section.title, page.width - 2 * page.pad, _TITLE_SIZE * unit, "bold")
        yield pen.write(title, page.pad, y + 1.2 * unit, _TITLE_SIZE * unit, "bold")
        y += TITLE * unit
    size = VERDICT_SIZE * unit
    for row, text in enumerate(page.lines):
        base, x = y + (LINE * row + 0.9) * unit, page.pad
        inside = [escape_xml(text)]
        if row == 0:
            word = drawn.section.verdict_name
            yield _verdict_icon(pen, drawn.section.mark, x, base - 0.84 * unit, 1.1 * unit)
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


def _below(pen: Pen, answer: CurvesAnswer, page: Sheet) -> Iterator[Markup]:
    """The footer: parameters on the left, the name of the app on the right."""
    if not page.parts.foot:
        return
    size, y = _FOOTER_SIZE * page.unit, page.height - 0.85 * page.unit
    room = page.width - 2 * page.pad - text_width(_APP_NAME, size) - 2 * size
    yield pen.write(truncated_text(_footer_text(answer), room, size), page.pad, y, size, fill="muted")
    yield pen.write(_APP_NAME, page.width - page.pad, y, size, fill="muted", anchor="end")


def preview_svg(answer: Answer, address: Address) -> str:
    """The SVG from which the PNG of ``answer`` is rasterized, light if the theme is "auto"."""
    theme = "dark" if address.theme == "dark" else "light"
    return sheet_text(answer, address, PREVIEW_SIZE, theme).encode("utf-8", "replace").decode()


def print_svg(answer: Answer, address: Address) -> str:
    """The SVG from which the PDF of ``answer`` is made: paper does not follow a system, so "auto" is light."""
    theme = "dark" if address.theme == "dark" else "light"
    return sheet_text(answer, address, SHEET_SIZE, theme).encode("utf-8", "replace").decode()


def svg_sheet(pen: Pen, theme: str, size: tuple[int, int], words: tuple[str, str], shapes: Iterable[Markup]) -> str:
    """A whole SVG of these shapes; ``words`` are its title and its description."""
    return _sheet(pen, theme, size, _accessible(pen, *words), shapes).encode("utf-8", "replace").decode()
