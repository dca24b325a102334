"""The legend of a sheet: keys (a sample of each line or mark) with their words, and their layout in rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from markupsafe import Markup

from .font_metrics import text_width
from .legend import bend_words, stripe_label
from .palette import SEEN_OPACITY, Pen, draw_curve, draw_mark
from .scene import Scene

_LINE, _DOT, _GAP, _APART = 1.7, 0.8, 0.45, 1.2  # lengths in units of the size of the text

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


def legend_entries(drawn: Scene, glossed: bool = True) -> tuple[list[LegendEntry], list[LegendEntry]]:
    """The entries for values, and those for slopes; ``glossed`` adds how the slopes were obtained."""
    names = {layer.name for layer in drawn.layers}
    bent = bend_words(mark.kind for mark in drawn.section.marks)
    said = drawn.section.nouns
    upper = [
        _line("forward", said.drawn),
        *([_line("implied", f"{said.forward} implied by {said.backward}")] if "implied" in names else []),
        *([_line("surrogate", "surrogate")] if "surrogate" in names else []),
        *([_mark("kinks", bent)] if bent else []),
        *([_jump()] if "closed ends" in names else []),
        *([_block("your data", SEEN_OPACITY, "ink")] if drawn.section.seen else []),
    ]
    lower = [
        *([_line("analytical", f"analytical{f', by {said.backward}' * glossed}")] if "analytical" in names else []),
        *(
            [_line("numerical", f"numerical{', by differences' * glossed}")]
            if drawn.section.column("numerical")
            else []
        ),
        *([_line("surrogate", "surrogate slope")] if "surrogate slope" in names else []),
        *([_block(stripe_label(drawn.section.word), drawn.opacity, "disagreement")] if drawn.stripes else []),
    ]
    return upper, lower


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


def _block(words: str, opacity: float, colour: str) -> LegendEntry:
    def draw(pen: Pen, x: float, y: float, size: float) -> Markup:
        box = {"x": x, "y": y - 0.38 * size, "width": _LINE * 0.65 * size, "height": 0.76 * size}
        return pen.draw("rect", box | {"opacity": max(0.25, opacity)}, fill=colour)

    return LegendEntry(words, _LINE * 0.65, draw)
