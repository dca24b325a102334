"""The panels of curves, for a sheet: values above slopes, or both in one."""

from collections.abc import Iterator
from itertools import chain

from markupsafe import Markup

from .axes import Tick
from .legend_keys import LegendEntry, legend_entries
from .palette import SEEN_OPACITY, draw_band, draw_curve, draw_mark
from .panel import Canvas, Panel
from .scene import Axis, Scene
from .svg_paths import area_path, curve_path, mark_positions
from .traces import Layer

_ZERO = (Tick(0.0, ""),)


def curve_panels(drawn: Scene) -> tuple[Panel, ...]:
    """The panels of a scene, from above."""
    (upper, lower), (_, brief) = (legend_entries(drawn, glossed) for glossed in (True, False))
    if drawn.lower is None:
        return (_panel(drawn, drawn.upper, (*upper, *lower), (*upper, *brief)),)
    return _panel(drawn, drawn.upper, tuple(upper)), _panel(drawn, drawn.lower, tuple(lower), tuple(brief))


def _panel(drawn: Scene, up: Axis, legend: tuple[LegendEntry, ...], brief: tuple[LegendEntry, ...] = ()) -> Panel:
    layers = [layer for layer in drawn.layers if drawn.axis(layer) is up]

    def inside(canvas: Canvas) -> Iterator[Markup]:
        yield from _stripes(canvas, drawn)
        yield from _bars(canvas, drawn) if up is drawn.upper else ()
        yield from canvas.lines("grid", canvas.across.ticks, canvas.up.ticks)
        yield from canvas.lines("rule", _ZERO, _ZERO)
        yield from chain.from_iterable(_curve(canvas, layer, drawn.lower is None) for layer in layers)

    def above(canvas: Canvas) -> Iterator[Markup]:
        for layer in layers:
            if layer.shape in ("diamonds", "ends"):
                for x, y in mark_positions(layer, canvas.across, canvas.up):
                    yield draw_mark(canvas.pen, layer.name, canvas.grid.x(x), canvas.grid.y(y), canvas.scale)

    across = Axis(drawn.many.span, drawn.many.words)
    return Panel(up.words, across, up, inside, legend, brief, above, arrow=True, grid=False)


def _stripes(canvas: Canvas, drawn: Scene) -> Iterator[Markup]:
    for low, high in drawn.stripes:
        left, right = (canvas.grid.x(max(0.0, min(1.0, canvas.across.share(end)))) for end in (low, high))
        box = {"x": left, "width": right - left, "height": canvas.grid.height, "opacity": drawn.opacity}
        yield canvas.pen.draw("rect", box, fill="disagreement")


def _bars(canvas: Canvas, drawn: Scene) -> Iterator[Markup]:
    """The numbers of a step, from the bottom of the panel."""
    for low, high, share in drawn.section.seen:
        left, right = (canvas.grid.x(canvas.across.share(end)) for end in (low, high))
        height = share * canvas.grid.height
        box = {"x": left, "width": right - left, "y": canvas.grid.height - height, "height": height}
        yield canvas.pen.draw("rect", {**box, "opacity": SEEN_OPACITY}, fill="ink")


def _curve(canvas: Canvas, layer: Layer, overlaid: bool) -> Iterator[Markup]:
    if layer.shape == "area":
        yield draw_band(canvas.pen, area_path(layer, canvas.across, canvas.up, canvas.grid))
    elif layer.shape == "line":
        name = "overlaid forward" if layer.name == "forward" and overlaid else layer.name
        yield draw_curve(canvas.pen, name, curve_path(layer, canvas.across, canvas.up, canvas.grid), canvas.scale)
