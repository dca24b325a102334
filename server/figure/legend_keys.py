"""Legends: keys (a sample of each line or mark) with their words, and their layout in rows."""

from collections.abc import Callable
from dataclasses import dataclass

from markupsafe import Markup

from ..documents.typography import typeset_number
from .legend import bend_words, legend_curves, stripe_label
from .palette import Pen, draw_curve, draw_mark
from .scene import Scene
from .svg_elements import text_width

_LINE, _DOT, _GAP, _APART = 1.7, 0.8, 0.45, 1.2  # lengths in units of the size of the text
_FAINTEST = 0.25  # a box

_Draw = Callable[[Pen, float, float, float], Markup]


@dataclass(frozen=True)
class LegendEntry:
    """A legend entry: its words and its key, which ``draw(pen, x, y, size)`` draws from x on, centred on y."""

    words: str
    length: float
    draw: _Draw

    def room(self, size: float) -> float:
        """Its width in a row."""
        return (self.length + _GAP) * size + text_width(self.words, size)


def legend_entries(drawn: Scene, glossed: bool) -> tuple[list[LegendEntry], list[LegendEntry]]:
    """The entries for values, and those for slopes; ``glossed`` adds how the slopes were obtained."""
    section, said = drawn.section, drawn.section.nouns
    differing = box_key(stripe_label(section.word), "disagreement", max(_FAINTEST, drawn.opacity))
    upper = {
        "forward": _line("forward", said.drawn),
        "implied": _line("implied", f"{said.forward} implied by {said.backward}"),
        "surrogate": _line("surrogate", "surrogate"),
        "kinks": _mark("kinks", bend_words(mark.kind for mark in section.marks)),
        "closed ends": _jump(),
        "seen": box_key("your data", "ink", _FAINTEST),
    }
    lower = {
        "analytical": _line("analytical", f"analytical{f', by {said.backward}' * glossed}"),
        "numerical": _line("numerical", f"numerical{', by differences' * glossed}"),
        "surrogate slope": _line("surrogate", "surrogate slope"),
        "disagreement": differing,
    }
    there = legend_curves(section)
    values, slopes = ([entry for name, entry in side.items() if name in there] for side in (upper, lower))
    return values, slopes


def legend_rows(
    found: list[LegendEntry], first: float, room: float, size: float
) -> list[list[tuple[float, LegendEntry]]]:
    """The entries in rows, each with its x; the first row is indented by ``first``. A row holds one at least."""
    lines: list[list[tuple[float, LegendEntry]]] = [[]]
    x = first
    for each in found:
        if x + each.room(size) > room and x > 0:
            lines.append([])
            x = 0.0
        lines[-1].append((x, each))
        x += each.room(size) + _APART * size
    return lines


def _line(name: str, words: str) -> LegendEntry:
    def draw(pen: Pen, x: float, y: float, size: float) -> Markup:
        inset = 0.2 * size if name == "numerical" else 0.0
        end = x + _LINE * size
        return draw_curve(pen, name, f"M{x + inset:.2f} {y:.2f}H{end - inset:.2f}", size / 13)

    return LegendEntry(words, _LINE, draw)


def _mark(name: str, words: str) -> LegendEntry:
    return LegendEntry(
        words, _DOT, lambda pen, x, y, size: draw_mark(pen, name, x + _DOT * size / 2, y, 0.75 * size / 13)
    )


def _jump() -> LegendEntry:
    def draw(pen: Pen, x: float, y: float, size: float) -> Markup:
        d = f"M{x:.2f} {y:.2f}h{0.55 * size:.2f}m{0.6 * size:.2f} 0h{0.55 * size:.2f}"
        ends = (("closed ends", 0.55), ("open ends", 1.15))
        dots = (draw_mark(pen, name, x + at * size, y, 0.8 * size / 13) for name, at in ends)
        return Markup("").join([draw_curve(pen, "forward", d, size / 13), *dots])

    return LegendEntry("jump", _LINE, draw)


def line_key(words: str, colour: str, width: float, dashes: tuple[float, ...] = ()) -> LegendEntry:
    """A legend entry with a line."""

    def draw(pen: Pen, x: float, y: float, size: float) -> Markup:
        shape: dict[str, str | float] = {"d": f"M{x:.2f} {y:.2f}h{_LINE * size:.2f}", "stroke-width": width * size / 13}
        shape |= {"stroke-dasharray": " ".join(f"{each * size / 13:.3g}" for each in dashes)} if dashes else {}
        return pen.draw("path", shape, fill="none", stroke=colour)

    return LegendEntry(words, _LINE, draw)


def dot_key(words: str, colour: str) -> LegendEntry:
    """A legend entry with a dot."""
    return LegendEntry(
        words,
        _DOT,
        lambda pen, x, y, size: pen.draw("circle", {"cx": x + 0.4 * size, "cy": y, "r": 0.25 * size}, fill=colour),
    )


def ring_key(words: str, colour: str) -> LegendEntry:
    """A legend entry with a hollow dot."""

    def draw(pen: Pen, x: float, y: float, size: float) -> Markup:
        ring: dict[str, str | float] = {"cx": x + 0.4 * size, "cy": y, "r": 0.2 * size, "stroke-width": 0.1 * size}
        return pen.draw("circle", ring, fill="paper", stroke=colour)

    return LegendEntry(words, _DOT, draw)


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
    length = 0.65 * _LINE

    def draw(pen: Pen, x: float, y: float, size: float) -> Markup:
        box: dict[str, str | float] = {"x": x, "y": y - 0.38 * size, "width": length * size, "height": 0.76 * size}
        return pen.draw("rect", box | {"opacity": opacity}, fill=colour)

    return LegendEntry(words, length, draw)
