"""The colours and strokes of a figure, in a light and a dark palette, and a pen that draws with them.

The same colours stand in static/css/base.css and static/img/favicon.svg, the same widths in static/css/figure.css and
static/js/figure/traces.js.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from .svg_elements import AttributeValue, Face, escape_xml, svg_element

SEEN_OPACITY = 0.16  # of the bars of a step's numbers
DIAMOND_RADIUS, END_RADIUS, OUTLINE_WIDTH = 5.85, 3.5, 1.6
Palette = Mapping[str, str]
LIGHT_PALETTE: Palette = {
    "paper": "#fefefd",
    "ink": "#1d1d1f",
    "muted": "#5d6066",
    "rule": "#d9d9d6",
    "grid": "#efefec",
    "analytical": "#0072b2",
    "numerical": "#e69f00",
    "surrogate": "#009e73",
    "disagreement": "#d55e00",
    "negative": "#8a4a12",
    "neutral": "#f1f0ec",
    "positive": "#005f99",
    "bfloat16": "#a5518a",
    "float16": "#00857a",
}
DARK_PALETTE: Palette = {
    "paper": "#16171a",
    "ink": "#ececea",
    "muted": "#a3a6ad",
    "rule": "#3a3d44",
    "grid": "#24262b",
    "analytical": "#56b4e9",
    "numerical": "#f0ad25",
    "surrogate": "#2fc596",
    "disagreement": "#ff7a33",
    "negative": "#e2a366",
    "neutral": "#23252a",
    "positive": "#6cbcf0",
    "bfloat16": "#d98cc0",
    "float16": "#4fc3b4",
}

PAGE_PALETTE: Palette = {name: f"var(--{name})" for name in LIGHT_PALETTE}  # as the style sheet of a page has it


def palette(theme: str) -> Palette:
    """The palette of a theme; that of "auto" is the light one, to which a media query adds the dark one."""
    return DARK_PALETTE if theme == "dark" else LIGHT_PALETTE


def dark_scheme_rules() -> Markup:
    """A style sheet that recolours what a ``Pen`` has drawn under ``prefers-color-scheme: dark``."""
    rule = Markup(".f-{0}{{fill:{1}}}.s-{0}{{stroke:{1}}}")
    rules = Markup("").join(rule.format(name, colour) for name, colour in DARK_PALETTE.items())
    return Markup("@media (prefers-color-scheme:dark){{{}}}").format(rules)


FONT_FAMILIES = {
    "text": "-apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif",
    "code": "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace",
}


@dataclass(frozen=True)
class Pen:
    """Creates elements whose colours are names of ``palette``, also given as classes, for style sheets to override."""

    palette: Palette

    def draw(
        self, tag: str, attributes: Mapping[str, AttributeValue], *inside: Markup, fill: str = "", stroke: str = ""
    ) -> Markup:
        """An element; ``fill`` and ``stroke`` are names of colours, or "none"."""
        colours = [(kind, name) for kind, name in (("fill", fill), ("stroke", stroke)) if name]
        given: dict[str, AttributeValue] = {
            kind: name if name == "none" else self.palette[name] for kind, name in colours
        }
        classes = [f"{kind[0]}-{name}" for kind, name in colours if name != "none"]
        given |= {"class": " ".join(classes)} if classes else {}
        given |= attributes
        return svg_element(tag, given, *inside)

    def write(
        self, text: str, x: float, y: float, size: float, face: Face = "text", fill: str = "ink", anchor: str = "start"
    ) -> Markup:
        """A text on the base line ``y``."""
        said: dict[str, AttributeValue] = {"x": x, "y": y, "font-size": size}
        said |= {"font-weight": "bold"} if face == "bold" else {}
        said |= {"font-family": FONT_FAMILIES["code"]} if face == "code" else {}
        said |= {"text-anchor": anchor} if anchor != "start" else {}
        return self.draw("text", said, escape_xml(text), fill=fill)


_BEADS = (0.1, 9.0)


@dataclass(frozen=True)
class Stroke:
    """A colour, a width, and the lengths of dashes and gaps."""

    colour: str
    width: float
    opacity: float = 1.0
    dashes: tuple[float, ...] = ()


_STROKES = {
    "numerical": Stroke("numerical", 7, 0.75),
    "implied": Stroke("analytical", 1.2),
    "surrogate": Stroke("surrogate", 5, dashes=_BEADS),
    "surrogate slope": Stroke("surrogate", 5, dashes=_BEADS),
    "forward": Stroke("ink", 2),
    "overlaid forward": Stroke("ink", 3.5),
    "analytical": Stroke("analytical", 2),
    "subgradients": Stroke("muted", 1.2, dashes=(2.0, 3.0)),
}


def draw_curve(pen: Pen, name: str, d: str, scale: float) -> Markup:
    """A curve by the name of its layer, nothing where its path is empty."""
    stroke = _STROKES[name]
    shape: dict[str, str | float] = {"d": d, "stroke-width": stroke.width * scale}
    shape |= {"stroke-linecap": "round", "stroke-linejoin": "round"}
    if stroke.dashes:
        shape["stroke-dasharray"] = " ".join(f"{each * scale:.3g}" for each in stroke.dashes)
    if stroke.opacity < 1:
        shape["opacity"] = stroke.opacity
    return pen.draw("path", shape, fill="none", stroke=stroke.colour) if d else Markup("")


def draw_band(pen: Pen, d: str) -> Markup:
    """The error band."""
    return pen.draw("path", {"opacity": 0.22, "d": d}, fill="numerical") if d else Markup("")


def draw_mark(pen: Pen, name: str, x: float, y: float, scale: float) -> Markup:
    """A mark by the name of its layer."""
    outline = OUTLINE_WIDTH * scale
    if name in ("open ends", "closed ends"):
        circle = {"cx": x, "cy": y, "r": END_RADIUS * scale, "stroke-width": outline}
        return pen.draw("circle", circle, fill="ink" if name == "closed ends" else "paper", stroke="ink")
    half = DIAMOND_RADIUS * scale
    d = f"M{x + half:.2f} {y:.2f}L{x:.2f} {y + half:.2f} {x - half:.2f} {y:.2f} {x:.2f} {y - half:.2f}z"
    return pen.draw("path", {"d": d, "stroke-width": outline}, fill="paper", stroke="ink")
