"""A figure as a stand-alone SVG that can be printed: title, verdict, panels with their legends, parameters."""

from collections.abc import Collection, Iterator
from dataclasses import replace

from markupsafe import Markup

from ..documents.typography import exact_number, typeset_powers, typeset_sentence
from ..protocol.answer import Answer, CurvesAnswer, curves_of
from ..protocol.views import VIEWS
from ..schema.verdict_words import MARKS
from ..url.address import HEIGHT_BOUNDS, WIDTH_BOUNDS, Address, value_text
from .curve_panels import curve_panels
from .drawn_section import DrawnSection, without_hidden
from .palette import FONT_FAMILIES, Pen, dark_scheme_rules, palette
from .panel import Canvas, Panel
from .scene import build_scene
from .sheet_layout import (
    APART,
    COLUMN,
    HEAD,
    ICON_WIDTH,
    LINE,
    TITLE,
    VERDICT_SIZE,
    Picture,
    PlacedPanel,
    Sheet,
    lay_out_sheet,
)
from .svg_elements import escape_xml, text_width, truncated_text
from .svg_paths import PathGrid
from .view_picture import view_rows

SHEET_SIZE = (1200, 900)
PREVIEW_SIZE = (1200, 630)  # pixels of a link preview (Open Graph)
_TITLE_SIZE, _FOOTER_SIZE, _TEXT_SIZE = 1.4, 0.72, 0.77  # in units; the last of numbers in a panel
_PIXELS = 15.0  # the font size of the page in pixels, for which the widths of strokes are given
_APP_NAME = "Gradloupe"
_MAX_DESCRIPTION = 2000  # letters
_ICON_WIDTHS = {"muted": 1.8, "disagreement": 2.0}


def figure_svg(answer: Answer, address: Address) -> bytes:
    """The picture of ``answer``, of the size, theme and layout that ``address`` asks for."""
    return sheet_text(answer, address, SHEET_SIZE, address.theme).encode()


def preview_svg(answer: Answer, address: Address) -> str:
    """The SVG from which the PNG of ``answer`` is rasterized, light if the theme is "auto"."""
    return sheet_text(answer, address, PREVIEW_SIZE, printed_theme(address.theme))


def print_svg(answer: Answer, address: Address) -> str:
    """The SVG from which the PDF of ``answer`` is made: paper does not follow a system, so "auto" is light."""
    return sheet_text(answer, address, SHEET_SIZE, printed_theme(address.theme))


def printed_theme(theme: str) -> str:
    """The theme of what cannot follow that of a system: "auto" is light."""
    return "dark" if theme == "dark" else "light"


def sheet_text(answer: Answer, address: Address, size: tuple[int, int], theme: str) -> str:
    """The text of the SVG; ``size`` is the default where the address gives none."""
    curves = answer.header["view"] == "curves"
    picture = _curves(curves_of(answer), address) if curves else _closer_look(answer)
    return svg_of_picture(picture, _dimensions(address, size), theme, address.hide)


def svg_of_picture(picture: Picture, size: tuple[int, int], theme: str, hide: tuple[str, ...] = ()) -> str:
    """The SVG of a picture in this size, without the parts that ``hide`` names."""
    pen, page = Pen(palette(theme)), lay_out_sheet(picture, *size, hide)
    title, description = picture.about
    box: dict[str, str | float] = {
        "xmlns": "http://www.w3.org/2000/svg",
        "width": page.width,
        "height": page.height,
        "viewBox": f"0 0 {page.width:g} {page.height:g}",
        "font-family": FONT_FAMILIES["text"],
        "role": "img",
        "aria-labelledby": "title description",
    }
    said = [
        pen.draw("title", {"id": "title"}, escape_xml(title)),
        pen.draw("desc", {"id": "description"}, escape_xml(description[:_MAX_DESCRIPTION])),
        *[pen.draw("style", {}, dark_scheme_rules())] * (theme == "auto"),
        pen.draw("rect", {"width": "100%", "height": "100%"}, fill="paper"),
    ]
    shapes = (*_above(pen, page), *_heads(pen, page), *_panels(pen, page), *_below(pen, page))
    return str(pen.draw("svg", box, *said, *shapes)).encode("utf-8", "replace").decode()


def _curves(answer: CurvesAnswer, address: Address) -> Picture:
    drawn = build_scene(without_hidden(answer, address.hide), address.layout)
    section = drawn.section
    return Picture(
        section.title,
        _about(section, address.hide),
        section.sentence,
        tuple((panel,) for panel in curve_panels(drawn)),
        _footer_text(answer),
        section.verdict_name,
        section.mark,
    )


def _closer_look(answer: Answer) -> Picture:
    header, failure = answer.header, answer.header["failure"]
    sentence = failure["sentence"] if failure else "" if header["view"] == "curves" else header["sentence"]
    title = f"{header['title']}: {VIEWS[header['view']].title}"
    return Picture(title, (title, typeset_sentence(sentence)), sentence, view_rows(answer), _footer_text(answer))


def _about(section: DrawnSection, hide: Collection[str]) -> tuple[str, str]:
    """Title and description of the SVG, for screen readers; without the verdict where that is hidden."""
    word, sentence = ("", "") if "verdict" in hide else (f": {section.verdict_name}", section.sentence)
    panels = f"{section.nouns.of} and its gradient with respect to {section.wrt}"
    description = f"{panels}, from {section.start:g} to {section.stop:g}. {sentence[:_MAX_DESCRIPTION]}"
    return section.title + word, typeset_powers(typeset_sentence(description))


def _footer_text(answer: Answer) -> str:
    """Every parameter that the curves depend on, but for inputs of several elements."""
    header = answer.header
    scalars = {name: values[0] for name, values in header["inputs"].items() if len(values) == 1}
    settings = {**header["parameters"], **scalars, "grad_output": header["grad_output"]}
    named = [f"{name} = {value_text(value, exact_number)}" for name, value in settings.items() if name != header["wrt"]]
    order = " · second derivative" if header["order"] == 2 else ""
    return f"{', '.join(named)}{order} · {header['dtype']} on {header['device']['kind']}"


def _dimensions(address: Address, size: tuple[int, int]) -> tuple[int, int]:
    """Width and height; one that is not given follows from the other by the ratio of ``size``."""
    width, height = address.width, address.height
    if width:
        return width, height or _clamped(HEIGHT_BOUNDS, width * size[1] / size[0])
    return (_clamped(WIDTH_BOUNDS, height * size[0] / size[1]), height) if height else size


def _clamped(bounds: tuple[int, int], length: float) -> int:
    return max(bounds[0], min(bounds[1], round(length)))


def _above(pen: Pen, page: Sheet) -> Iterator[Markup]:
    """The title, the verdict, and the headings of columns."""
    unit, y, picture = page.unit, page.pad, page.picture
    if page.parts.title:
        title = truncated_text(picture.title, page.width - 2 * page.pad, _TITLE_SIZE * unit, "bold")
        yield pen.write(title, page.pad, y + 1.2 * unit, _TITLE_SIZE * unit, "bold")
        y += TITLE * unit
    size = VERDICT_SIZE * unit
    for row, text in enumerate(page.lines):
        base, x = y + (LINE * row + 0.9) * unit, page.pad
        inside = [escape_xml(text)]
        if row == 0 and (word := picture.word):
            yield _verdict_icon(pen, picture.mark, x, base - 0.84 * unit, 1.1 * unit)
            x += ICON_WIDTH * unit
            bold = escape_xml(f"{word[:1].upper()}{word[1:]}.")
            inside = [pen.draw("tspan", {"font-weight": "bold"}, bold, fill="ink"), Markup(" "), *inside]
        yield pen.draw("text", {"x": x, "y": base, "font-size": size}, *inside, fill="muted")
    base = (page.top - COLUMN + 1.4) * unit
    for (left, right), (heading, more) in zip(page.columns, picture.columns, strict=False):
        title = truncated_text(heading, (right - left) * 0.7, 0.9 * unit, "bold")
        after = left + text_width(title, 0.9 * unit, "bold") + 0.6 * unit
        yield pen.write(title, left, base, 0.9 * unit, "bold")
        yield pen.write(truncated_text(more, right - after, 0.72 * unit), after, base, 0.72 * unit, fill="muted")


def _verdict_icon(pen: Pen, mark: str, x: float, y: float, size: float) -> Markup:
    """The mark of a verdict in a square of ``size``."""
    scale = f"translate({x:.2f} {y:.2f}) scale({size / 16:.4f})"
    strokes = (
        pen.draw("path", {"d": d, "stroke-width": _ICON_WIDTHS.get(name, 2.4)}, fill="none", stroke=name)
        for name, d in MARKS.get(mark, ())
    )
    return pen.draw("g", {"transform": scale, "stroke-linecap": "round"}, *strokes)


def _heads(pen: Pen, page: Sheet) -> Iterator[Markup]:
    """Above each panel what it measures, and its legend."""
    unit, size, y = page.unit, page.small, page.top
    for i, (panels, legends) in enumerate(zip(page.picture.rows, page.legends, strict=True)):
        for (left, _), panel, legend in zip(page.columns, panels, legends, strict=False):
            base, x = (y + APART + 1) * unit, left
            if panel.arrow:
                yield pen.write("↑ ", x, base, size, "code", fill="muted")
                x += text_width("↑ ", size, "code")
            yield pen.write(panel.words, x, base, size, "code")
            for row in legend:
                for at, sample in row:
                    yield sample.draw(pen, left + at, base - 0.32 * size, size)
                    words = left + at + sample.room(size) - text_width(sample.words, size)
                    yield pen.write(sample.words, words, base, size)
                base += HEAD * unit
        y += page.head(i) + page.panel_height + page.below(i)


def _panels(pen: Pen, page: Sheet) -> Iterator[Markup]:
    """The panels with the labels beside them, and where they are shown those of the x-axes below."""
    for column in page.placed():
        for placed in column:
            yield from _panel(pen, page, placed)
        for placed in column:
            yield from _labels_below(pen, page, placed) if placed.labelled else ()


def _panel(pen: Pen, page: Sheet, placed: PlacedPanel) -> Iterator[Markup]:
    panel, size = placed.panel, page.small
    box: dict[str, str | float] = {"x": placed.left, "y": placed.top, "width": placed.right - placed.left}
    box |= {"height": page.panel_height * page.unit, "overflow": "hidden"}
    grid = PathGrid(placed.right - placed.left, page.panel_height * page.unit, digits=2)
    canvas = Canvas(pen, panel.across, panel.up, grid, page.unit / _PIXELS)
    lines = canvas.lines("grid", panel.across.ticks, panel.up.ticks) if panel.grid else ()
    yield pen.draw("svg", box, *lines, *panel.inside(canvas), *_texts(canvas, panel, _TEXT_SIZE * page.unit))
    whole = replace(canvas, grid=replace(grid, left=placed.left, top=placed.top))
    for tick in panel.up.ticks:
        y = whole.grid.y(panel.up.share(tick.value)) + 0.36 * size
        yield pen.write(tick.text, placed.left - 0.55 * size, y, size, fill="muted", anchor="end")
    yield from panel.above(whole) if panel.above else ()


def _texts(canvas: Canvas, panel: Panel, size: float) -> Iterator[Markup]:
    across, up = panel.cells
    widest = max((text_width(text, size) for _, _, text, _ in panel.texts), default=0.0)
    if canvas.grid.height / up < 1.2 * size or widest + 0.5 * size > canvas.grid.width / across:
        return
    for x, y, text, colour in panel.texts:
        base = canvas.grid.y(y) + 0.36 * size
        yield canvas.pen.write(text, canvas.grid.x(x), base, size, fill=colour, anchor="middle")


def _labels_below(pen: Pen, page: Sheet, placed: PlacedPanel) -> Iterator[Markup]:
    across, size, bottom = placed.panel.across, page.small, placed.top + page.panel_height * page.unit
    for tick in across.ticks:
        x = placed.left + (placed.right - placed.left) * across.share(tick.value)
        yield pen.write(tick.text, x, bottom + 1.4 * size, size, fill="muted", anchor="middle")
    if page.parts.name:
        middle = (placed.left + placed.right) / 2
        yield pen.write(across.words, middle, bottom + 2.85 * size, size * 1.05, "code", anchor="middle")


def _below(pen: Pen, page: Sheet) -> Iterator[Markup]:
    """The footer: parameters on the left, the name of the app on the right."""
    if not page.parts.foot:
        return
    size, y = _FOOTER_SIZE * page.unit, page.height - 0.85 * page.unit
    room = page.width - 2 * page.pad - text_width(_APP_NAME, size) - 2 * size
    yield pen.write(truncated_text(page.picture.footer, room, size), page.pad, y, size, fill="muted")
    yield pen.write(_APP_NAME, page.width - page.pad, y, size, fill="muted", anchor="end")
