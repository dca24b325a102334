"""What the pictures of closer looks are made of: lines, dots, boxes and fields of colours, and their legend keys."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isfinite

from markupsafe import Markup

from ..documents.typography import typeset_number
from ..protocol.answer import Answer
from .drawn_section import Numbers
from .legend_keys import LegendEntry
from .palette import Pen
from .scene import Axis
from .svg_paths import PathGrid, curve_path
from .traces import Layer

RIGHT = ("agrees", "subgradient")  # statuses
_LEVELS = 24  # of a colour, from none to full


@dataclass(frozen=True)
class Frame2D:
    """Both axes of a panel."""

    across: Axis
    up: Axis


def finite_column(answer: Answer, name: str) -> Numbers:
    """A column of numbers, None where there is no finite one; empty where there is no such column."""
    values = answer.columns.get(name)
    return [] if values is None else [value if isfinite(value) else None for value in values.tolist()]


def words_of_status(answer: Answer, statuses: Sequence[str], name: str = "status") -> list[str]:
    """The status of each row."""
    return [statuses[code] for code in answer.columns.get(name, ())]


def draw_line(
    pen: Pen,
    axes: Frame2D,
    grid: PathGrid,
    line: tuple[Sequence[float | None], Sequence[float | None]],
    colour: str,
    width: float,
    dashes: str = "",
) -> Iterator[Markup]:
    """A curve, broken at gaps."""
    d = curve_path(Layer("", "line", False, list(line[0]), list(line[1])), axes.across, axes.up, grid)
    shape: dict[str, str | float] = {"d": d, "stroke-width": width, "stroke-linejoin": "round"}
    shape |= {"stroke-dasharray": dashes} if dashes else {}
    if d:
        yield pen.draw("path", shape, fill="none", stroke=colour)


def draw_dots(
    pen: Pen, axes: Frame2D, grid: PathGrid, points: Iterable[tuple[float, float | None]], colour: str, size: float
) -> Iterator[Markup]:
    """Dots, as one path of strokes without a length."""
    spots = [(axes.across.share(x), axes.up.share(y)) for x, y in points if y is not None]
    seen = [(x, y) for x, y in spots if -1e-9 <= x <= 1 + 1e-9 and -1e-9 <= y <= 1 + 1e-9]
    d = "".join(f"M{grid.x(x):g} {grid.y(y):g}h.01" for x, y in seen)
    if d:
        yield pen.draw("path", {"d": d, "stroke-width": size, "stroke-linecap": "round"}, fill="none", stroke=colour)


def draw_rings(
    pen: Pen, axes: Frame2D, grid: PathGrid, points: Iterable[tuple[float, float | None]], colour: str, size: float
) -> Iterator[Markup]:
    """Dots that are hollow."""
    spots = list(points)
    yield from draw_dots(pen, axes, grid, spots, colour, size)
    yield from draw_dots(pen, axes, grid, spots, "paper", 0.55 * size)


def draw_boxes(
    pen: Pen,
    axes: Frame2D,
    grid: PathGrid,
    boxes: Iterable[tuple[float, float, float, float]],
    colour: str,
    opacity: float,
) -> Iterator[Markup]:
    """Rectangles from left, low to right, high."""
    parts = []
    for left, low, right, high in boxes:
        x0, x1 = (grid.x(_within(axes.across.share(each))) for each in (left, right))
        y0, y1 = (grid.y(_within(axes.up.share(each))) for each in (high, low))
        if x1 > x0 and y0 != y1:
            parts.append(f"M{x0:g} {y0:g}H{x1:g}V{y1:g}H{x0:g}z")
    if parts:
        yield pen.draw("path", {"d": "".join(parts), "opacity": opacity}, fill=colour)


def _within(share: float) -> float:
    return max(0.0, min(1.0, share))


def draw_field(
    pen: Pen, grid: PathGrid, rows: Sequence[Sequence[float | None]], most: float, signed: bool = True
) -> Iterator[Markup]:
    """A field of colours, the first row at the bottom; neighbours of one colour are one box. No number, no colour."""
    found: dict[tuple[str, int], list[str]] = defaultdict(list)
    high = len(rows)
    for i, row in enumerate(rows):
        wide = len(row)
        top, bottom = (round(grid.y((i + each) / high)) for each in (1, 0))
        at = 0
        for key, run in groupby(row, lambda value: _shade(value, most, signed)):
            count = sum(1 for _ in run)
            left, right = (round(grid.x(each / wide)) for each in (at, at + count))
            at += count
            if key is not None and right > left and bottom > top:
                found[key].append(f"M{left} {top}H{right}V{bottom}H{left}z")
    everything = [part for (_, level), parts in found.items() for part in parts]
    yield pen.draw("path", {"d": "".join(everything), "shape-rendering": "crispEdges"}, fill="neutral")
    for (colour, level), parts in sorted(found.items()):
        if level:
            shape: dict[str, str | float] = {
                "d": "".join(parts),
                "opacity": level / _LEVELS,
                "shape-rendering": "crispEdges",
            }
            yield pen.draw("path", shape, fill=colour)


def _shade(value: float | None, most: float, signed: bool) -> tuple[str, int] | None:
    if value is None:
        return None
    colour = "muted" if not signed else "negative" if value < 0 else "positive"
    level = round(_LEVELS * min(1.0, abs(value) / most)) if most else 0
    return colour, level


def line_key(words: str, colour: str, width: float, dashes: tuple[float, ...] = ()) -> LegendEntry:
    """A legend entry with a line."""

    def draw(pen: Pen, x: float, y: float, size: float) -> Markup:
        shape: dict[str, str | float] = {"d": f"M{x:.2f} {y:.2f}h{1.7 * size:.2f}", "stroke-width": width * size / 13}
        shape |= {"stroke-dasharray": " ".join(f"{each * size / 13:.3g}" for each in dashes)} if dashes else {}
        return pen.draw("path", shape, fill="none", stroke=colour)

    return LegendEntry(words, 1.7, draw)


def dot_key(words: str, colour: str) -> LegendEntry:
    """A legend entry with a dot."""
    return LegendEntry(
        words,
        0.8,
        lambda pen, x, y, size: pen.draw("circle", {"cx": x + 0.4 * size, "cy": y, "r": 0.25 * size}, fill=colour),
    )


def ring_key(words: str, colour: str) -> LegendEntry:
    """A legend entry with a hollow dot."""

    def draw(pen: Pen, x: float, y: float, size: float) -> Markup:
        ring: dict[str, str | float] = {"cx": x + 0.4 * size, "cy": y, "r": 0.2 * size, "stroke-width": 0.1 * size}
        return pen.draw("circle", ring, fill="paper", stroke=colour)

    return LegendEntry(words, 0.8, draw)


def ramp_key(most: float, words: str = "") -> LegendEntry:
    """A legend entry with the colours of a field whose numbers go to ``most`` on either side of 0."""
    wide, parts = 0.36, 6  # on either side

    def draw(pen: Pen, x: float, y: float, size: float) -> Markup:
        def box(at: int, colour: str, opacity: float) -> Markup:
            shape: dict[str, str | float] = {"x": x + (at + parts) * wide * size, "y": y - 0.38 * size}
            shape |= {"width": wide * size, "height": 0.76 * size, "opacity": opacity, "shape-rendering": "crispEdges"}
            return pen.draw("rect", shape, fill=colour)

        below = (box(-i, "negative", i / parts) for i in range(1, parts + 1))
        above = (box(i - 1, "positive", i / parts) for i in range(1, parts + 1))
        return Markup("").join([*below, *above])

    ends = f"{typeset_number(-most, 3)} … {typeset_number(most, 3)}"
    return LegendEntry(f"{words}{': ' * bool(words)}{ends}", 2 * parts * wide, draw)


def box_key(words: str, colour: str, opacity: float) -> LegendEntry:
    """A legend entry with a filled box."""

    def draw(pen: Pen, x: float, y: float, size: float) -> Markup:
        box: dict[str, str | float] = {"x": x, "y": y - 0.38 * size, "width": 1.1 * size, "height": 0.76 * size}
        return pen.draw("rect", box | {"opacity": opacity}, fill=colour)

    return LegendEntry(words, 1.1, draw)
