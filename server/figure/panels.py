"""The panels of a sheet: their layout with as many tick labels as fit, and the drawing of all that is in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from markupsafe import Markup

from .axis_ticks import Tick, fitting_ticks, ticks
from .font_metrics import text_width
from .palette import SEEN_OPACITY, Pen, draw_band, draw_curve, draw_mark
from .scene import Axis, Scene
from .svg_paths import PathGrid, area_path, curve_path, mark_positions
from .traces import Layer

_PIXELS = 15.0  # the font size of the page in pixels, for which the widths of strokes are given
_BESIDE, _BELOW = 2.2, 7.5  # the least distance between labels, in font sizes: on the y-axis and on the x-axis
_MOST, _MOST_ALONE, _MOST_BELOW = 5, 8, 8
_LETTER = 0.8  # the width of a label in the font of the page, which ticks assume, relative to DejaVu Sans


@dataclass(frozen=True)
class Panels:
    """The layout of panels in pixels: from ``left`` to ``right``, each from one of ``tops`` on, ``height`` high."""

    scene: Scene
    left: float
    right: float
    tops: tuple[float, ...]
    height: float
    size: float
    scale: float

    @property
    def bottom(self) -> float:
        return self.tops[-1] + self.height


def lay_out_panels(
    drawn: Scene, edges: tuple[float, float], tops: tuple[float, ...], height: float, unit: float, size: float
) -> Panels:
    """The panels between two edges, labels in ``size`` included."""
    count = max(2, min(_MOST if drawn.lower else _MOST_ALONE, height / (_BESIDE * size)))
    upper = replace(drawn.upper, ticks=ticks(drawn.upper.span, count))
    lower = drawn.lower and replace(drawn.lower, ticks=ticks(drawn.lower.span, count))
    beside = [tick.text for axis in (upper, lower) if axis for tick in axis.ticks]
    left = edges[0] + max((text_width(text, size) for text in beside), default=0.0) + 0.55 * size
    room = edges[1] - left
    below = fitting_ticks(drawn.many.span, int(max(2, min(_MOST_BELOW, room / (_BELOW * size)))), _LETTER * room / size)
    last = max((text_width(tick.text, size) / 2 for tick in below if drawn.many.share(tick.value) > 0.95), default=0.0)
    right = edges[1] - max(0.0, last - 0.8 * unit)  # the last label may reach that far beyond the edge
    scene = replace(drawn, upper=upper, lower=lower, many=replace(drawn.many, ticks=below))
    return Panels(scene, left, right, tops, height, size, unit / _PIXELS)


def draw_panels(pen: Pen, panels: Panels, name: bool) -> Iterator[Markup]:
    """Both panels, the labels below them, and the ``name`` of the x-axis."""
    axes = [axis for axis in (panels.scene.upper, panels.scene.lower) if axis]
    for up, top in zip(axes, panels.tops, strict=True):
        yield _inside(pen, panels, up, top)
        yield from _labels(pen, panels, up, top)
    across, size = panels.scene.many, panels.size
    for tick in across.ticks:
        x = panels.left + (panels.right - panels.left) * across.share(tick.value)
        yield pen.write(tick.text, x, panels.bottom + 1.4 * size, size, fill="muted", anchor="middle")
    if name:
        middle = (panels.left + panels.right) / 2
        yield pen.write(across.words, middle, panels.bottom + 2.85 * size, size * 1.05, "code", anchor="middle")


def _inside(pen: Pen, panels: Panels, up: Axis, top: float) -> Markup:
    """The contents of a panel that are clipped at its edges."""
    wide, high = panels.right - panels.left, panels.height
    grid, across = PathGrid(wide, high, digits=2), panels.scene.many
    box: dict[str, str | float] = {"x": panels.left, "y": top, "width": wide, "height": high, "overflow": "hidden"}
    bars = _bars(pen, panels.scene, grid) if up is panels.scene.upper else ()
    shapes = [*_stripes(pen, panels.scene, grid), *bars, *_lines(pen, up, across, grid, panels.scale)]
    return pen.draw("svg", box, *shapes, *_curves(pen, panels, up, grid))


def _stripes(pen: Pen, drawn: Scene, grid: PathGrid) -> Iterator[Markup]:
    for low, high in drawn.stripes:
        left, right = (grid.x(max(0.0, min(1.0, drawn.many.share(end)))) for end in (low, high))
        box = {"x": left, "width": right - left, "height": grid.height, "opacity": drawn.opacity}
        yield pen.draw("rect", box, fill="disagreement")


def _bars(pen: Pen, drawn: Scene, grid: PathGrid) -> Iterator[Markup]:
    """The numbers of a step, from the bottom of the panel."""
    for low, high, share in drawn.section.seen:
        left, right = (grid.x(drawn.many.share(end)) for end in (low, high))
        height = share * grid.height
        box = {"x": left, "width": right - left, "y": grid.height - height, "height": height, "opacity": SEEN_OPACITY}
        yield pen.draw("rect", box, fill="ink")


def _lines(pen: Pen, up: Axis, across: Axis, grid: PathGrid, scale: float) -> Iterator[Markup]:
    """The lines of the grid, and those of 0."""
    level = [f"M0 {grid.y(share):g}H{grid.width:.2f}" for share in _shares(up, up.ticks)]
    upright = [f"M{grid.x(share):g} 0V{grid.height:.2f}" for share in _shares(across, across.ticks)]
    zeros = [f"M0 {grid.y(share):g}H{grid.width:.2f}" for share in _shares(up, [Tick(0.0, "")])]
    zeros += [f"M{grid.x(share):g} 0V{grid.height:.2f}" for share in _shares(across, [Tick(0.0, "")])]
    for colour, lines in (("grid", level + upright), ("rule", zeros)):
        shape: dict[str, str | float] = {"d": "".join(lines), "stroke-width": max(1.0, scale * 0.9)}
        yield pen.draw("path", shape, fill="none", stroke=colour) if lines else Markup("")


def _curves(pen: Pen, panels: Panels, up: Axis, grid: PathGrid) -> Iterator[Markup]:
    drawn = panels.scene
    for layer in _of(drawn, up):
        if layer.shape == "area":
            yield draw_band(pen, area_path(layer, drawn.many, up, grid))
        elif layer.shape == "line":
            thick = layer.name == "forward" and drawn.lower is None
            d = curve_path(layer, drawn.many, up, grid)
            yield draw_curve(pen, "overlaid forward" if thick else layer.name, d, panels.scale)


def _labels(pen: Pen, panels: Panels, up: Axis, top: float) -> Iterator[Markup]:
    """What is not clipped: the labels beside a panel, and its marks."""
    drawn, size = panels.scene, panels.size
    grid = PathGrid(panels.right - panels.left, panels.height, panels.left, top, digits=2)
    for tick in up.ticks:
        y = grid.y(up.share(tick.value)) + 0.36 * size
        yield pen.write(tick.text, panels.left - 0.55 * size, y, size, fill="muted", anchor="end")
    for layer in _of(drawn, up):
        for x, y in mark_positions(layer, drawn.many, up) if layer.shape in ("diamonds", "ends") else ():
            yield draw_mark(pen, layer.name, grid.x(x), grid.y(y), panels.scale)


def _of(drawn: Scene, up: Axis) -> Iterator[Layer]:
    return (layer for layer in drawn.layers if drawn.axis(layer) is up)


def _shares(axis: Axis, found: Iterable[Tick]) -> Iterator[float]:
    """The positions of grid lines, without those along an edge."""
    return (axis.share(tick.value) for tick in found if axis.inside(tick.value))
