"""A panel of a picture: its axes, its legend, and what is drawn in it; and the canvas on which that is drawn."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from .axes import Tick, ticks
from .drawn_section import Numbers
from .legend_keys import LegendEntry
from .palette import Pen
from .scene import Axis
from .svg_paths import PathGrid, curve_path
from .traces import Layer

CELLS_WITH_NUMBERS = 8  # in a row, at most
_LEVELS = 24  # of a colour, from none to full
_Point = tuple[float, float | None]


@dataclass(frozen=True)
class Canvas:
    """Where a panel is drawn: its labelled axes, its coordinates, and the ``scale`` of the widths of strokes."""

    pen: Pen
    across: Axis
    up: Axis
    grid: PathGrid
    scale: float

    def line(
        self, x: Sequence[float | None], y: Sequence[float | None], colour: str, width: float, *dashes: float
    ) -> Iterator[Markup]:
        """A curve, broken at gaps."""
        d = curve_path(Layer("", "line", False, list(x), list(y)), self.across, self.up, self.grid)
        shape: dict[str, str | float] = {"d": d, "stroke-width": width * self.scale, "stroke-linejoin": "round"}
        shape |= {"stroke-dasharray": " ".join(f"{each * self.scale:g}" for each in dashes)} if dashes else {}
        if d:
            yield self.pen.draw("path", shape, fill="none", stroke=colour)

    def dots(self, points: Iterable[_Point], colour: str, size: float) -> Iterator[Markup]:
        """Dots, as one path of strokes without a length."""
        spots = [(self.across.share(x), self.up.share(y)) for x, y in points if y is not None]
        seen = [(x, y) for x, y in spots if -1e-9 <= x <= 1 + 1e-9 and -1e-9 <= y <= 1 + 1e-9]
        d = "".join(f"M{self.grid.x(x):g} {self.grid.y(y):g}h.01" for x, y in seen)
        shape: dict[str, str | float] = {"d": d, "stroke-width": size * self.scale, "stroke-linecap": "round"}
        if d:
            yield self.pen.draw("path", shape, fill="none", stroke=colour)

    def rings(self, points: Sequence[_Point], colour: str, size: float) -> Iterator[Markup]:
        """Dots that are hollow."""
        yield from self.dots(points, colour, size)
        yield from self.dots(points, "paper", 0.55 * size)

    def boxes(
        self, boxes: Iterable[tuple[float, float, float, float]], colour: str, opacity: float
    ) -> Iterator[Markup]:
        """Rectangles from left, low to right, high."""
        parts = []
        for left, low, right, high in boxes:
            x0, x1 = (self.grid.x(_within(self.across.share(end))) for end in (left, right))
            y0, y1 = (self.grid.y(_within(self.up.share(end))) for end in (high, low))
            if x1 > x0 and y0 != y1:
                parts.append(f"M{x0:g} {y0:g}H{x1:g}V{y1:g}H{x0:g}z")
        if parts:
            yield self.pen.draw("path", {"d": "".join(parts), "opacity": opacity}, fill=colour)

    def field(self, rows: Sequence[Numbers], most: float, signed: bool = True) -> Iterator[Markup]:
        """A field of colours, the first row at the bottom; equal neighbours are one box. No number, no colour."""
        cells: dict[tuple[str, int], list[str]] = defaultdict(list)
        for i, row in enumerate(rows):
            top, bottom = (round(self.grid.y((i + edge) / len(rows))) for edge in (1, 0))
            at = 0
            for key, run in groupby(row, lambda value: _shade(value, most, signed)):
                count = sum(1 for _ in run)
                left, right = (round(self.grid.x(edge / len(row))) for edge in (at, at + count))
                at += count
                if key is not None and right > left and bottom > top:
                    cells[key].append(f"M{left} {top}H{right}V{bottom}H{left}z")
        shape: dict[str, str | float] = {"shape-rendering": "crispEdges"}
        whole = "".join(part for parts in cells.values() for part in parts)
        yield self.pen.draw("path", {"d": whole, **shape}, fill="neutral")
        for (colour, level), parts in sorted(cells.items()):
            if level:
                yield self.pen.draw("path", {"d": "".join(parts), "opacity": level / _LEVELS, **shape}, fill=colour)

    def lines(self, colour: str, across: Iterable[Tick], up: Iterable[Tick]) -> Iterator[Markup]:
        """Lines through these places of both axes, but for those along an edge."""
        level = (self.grid.y(self.up.share(tick.value)) for tick in up if self.up.inside(tick.value))
        upright = (self.grid.x(self.across.share(tick.value)) for tick in across if self.across.inside(tick.value))
        d = [
            *(f"M0 {y:g}H{self.grid.width:.2f}" for y in level),
            *(f"M{x:g} 0V{self.grid.height:.2f}" for x in upright),
        ]
        shape: dict[str, str | float] = {"d": "".join(d), "stroke-width": max(1.0, self.scale * 0.9)}
        if d:
            yield self.pen.draw("path", shape, fill="none", stroke=colour)


Shapes = Callable[[Canvas], Iterator[Markup]]
Labels = Callable[[float], tuple[Tick, ...]]


@dataclass(frozen=True)
class Panel:
    """A panel: the words above it, its axes, and what is drawn: ``inside``, clipped at its edges, and ``above`` that.

    ``below`` and ``beside`` give its axes labels, at most so many; by default round numbers. On a page there are
    ``levels`` of them beside it. With an ``arrow`` the words are what its y-axis measures. The ``brief`` legend, if
    there is one, stands where it takes fewer rows. ``texts`` stand over all that: where, as shares of the panel from
    the left and from below, what, and their colour. They are left out where one does not fit into its share of the
    panel, 1 / ``cells``. One with ``rows`` is so high on a page as these want to be.
    """

    words: str
    across: Axis
    up: Axis
    inside: Shapes
    legend: tuple[LegendEntry, ...] = ()
    brief: tuple[LegendEntry, ...] = ()
    above: Shapes | None = None
    below: Labels | None = None
    beside: Labels | None = None
    arrow: bool = False
    grid: bool = True
    levels: int = 3
    texts: tuple[tuple[float, float, str, str], ...] = ()
    cells: tuple[int, int] = (1, 1)
    rows: int = 0

    def labels_below(self, count: float) -> tuple[Tick, ...]:
        """The labels of the x-axis, about so many."""
        return self.below(count) if self.below else ticks(self.across.span, count)

    def labels_beside(self, count: float) -> tuple[Tick, ...]:
        """The labels of the y-axis."""
        return self.beside(count) if self.beside else ticks(self.up.span, count)


def _within(share: float) -> float:
    return max(0.0, min(1.0, share))


def _shade(value: float | None, most: float, signed: bool) -> tuple[str, int] | None:
    if value is None:
        return None
    colour = "muted" if not signed else "negative" if value < 0 else "positive"
    return colour, round(_LEVELS * min(1.0, abs(value) / most)) if most else 0
