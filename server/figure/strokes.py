"""Drawing of curves, error bands and marks: stroke widths, dashes, opacities."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from .svg_elements import DIAMOND_RADIUS, END_RADIUS, OUTLINE_WIDTH, Pen

_BEADS = (0.1, 9.0)


@dataclass(frozen=True)
class Stroke:
    """A colour, a width, and the lengths of dashes and gaps."""

    colour: str
    width: float
    opacity: float = 1.0
    dashes: tuple[float, ...] = ()


# As in js/figure/traces.js and static/css/figure.css.
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
