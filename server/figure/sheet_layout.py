"""Layout of a sheet of a given size; where space is short, parts are left out, the least important first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..documents.typography import typeset_powers, typeset_sentence
from .font_metrics import text_width, wrapped_lines
from .legend_keys import LegendEntry, legend_entries, legend_rows
from .scene import Scene

_UNIT, _COLUMNS, _ROWS = 10.0, 50, 26  # the font size: at least so many px; and so many font sizes wide and high
_SMALL, VERDICT_SIZE = 0.8, 0.84  # the sizes of labels and of the verdict, in units
# Heights in units: the edges, and rows of each kind.
_PAD, _BOTTOM, APART, CLOSE = 1.1, 0.75, 0.5, 0.15
TITLE, LINE, HEAD, _LABELS, _NAME, _FOOT = 1.95, 1.25, 1.45, 1.4, 1.2, 1.3
ICON_WIDTH = 1.5  # the width of the verdict icon
_SENTENCES, _LETTERS = 8, 400  # limits of the verdict's text: sentences, and characters of each
_WANTED, _ENOUGH, _LEAST = 6.2, 4.0, 2.6  # the height of a panel, in units
_ALONE = 1.6  # the required height of a single panel, relative to that of one of two


@dataclass(frozen=True)
class SheetParts:
    """Which parts are shown apart from the panels; ``said`` is the text of the verdict, None where it is left out."""

    title: bool
    said: str | None
    legend: bool
    name: bool
    foot: bool


@dataclass(frozen=True)
class PanelHeading:
    """The heading of a panel: the axis title, and the rows of the legend, each entry with its x."""

    words: str
    rows: list[list[tuple[float, LegendEntry]]]


@dataclass(frozen=True)
class Sheet:
    """The layout: size in pixels, font size ``unit``; the first of ``lines`` comes after the word of the verdict."""

    width: float
    height: float
    unit: float
    parts: SheetParts
    lines: tuple[str, ...]
    heads: tuple[PanelHeading, ...]

    @property
    def pad(self) -> float:
        return _PAD * self.unit

    @property
    def small(self) -> float:
        """The font size of labels and legends."""
        return _SMALL * self.unit

    @property
    def each(self) -> float:
        """The height of a panel, in units."""
        heads = sum(APART + HEAD * len(head.rows) + CLOSE for head in self.heads)
        below = _LABELS + _NAME * self.parts.name + _FOOT * self.parts.foot + _BOTTOM
        above = _PAD + TITLE * self.parts.title + LINE * len(self.lines)
        return (self.height / self.unit - above - heads - below) / len(self.heads)


def lay_out_sheet(drawn: Scene, wide: float, high: float, hide: tuple[str, ...]) -> Sheet:
    """The first layout whose panels are high enough."""
    unit = max(_UNIT, min(wide / _COLUMNS, high / _ROWS))
    for parts, wanted in _choices(drawn, hide):
        found = _arranged(drawn, wide, high, unit, parts)
        if found.each >= wanted * (1 if drawn.lower else _ALONE):
            break
    return found


def _choices(drawn: Scene, hide: tuple[str, ...]) -> Iterator[tuple[SheetParts, float]]:
    """The selections of parts, richest first, each with the height that its panels need."""
    title, legend, foot = ("title" not in hide, "legend" not in hide, "controls" not in hide)
    word = None if "verdict" in hide else ""
    sentences = [] if "verdict" in hide else _sentences(drawn.section.sentence)
    for count in range(len(sentences), 0, -1):
        for below in (foot, False):
            yield SheetParts(title, " ".join(sentences[:count]), legend, True, below), _WANTED
    yield SheetParts(title, word, legend, True, foot), _WANTED
    yield SheetParts(title, word, legend, True, False), _ENOUGH
    yield SheetParts(title, word, False, True, False), _ENOUGH
    yield SheetParts(title, word, False, False, False), _LEAST
    yield SheetParts(title, None, False, False, False), _LEAST
    yield SheetParts(False, None, False, False, False), 0.0


def _sentences(text: str) -> list[str]:
    whole = text if len(text) <= _SENTENCES * _LETTERS else f"{text[: _SENTENCES * _LETTERS]}…"
    found = re.split(r"(?<=[.]) ", typeset_powers(typeset_sentence(whole)))[:_SENTENCES]
    return [each if len(each) <= _LETTERS else f"{each[:_LETTERS]}…" for each in found]


def _arranged(drawn: Scene, wide: float, high: float, unit: float, parts: SheetParts) -> Sheet:
    room, lines = wide - 2 * _PAD * unit, []
    if parts.said is not None:
        before = ICON_WIDTH * unit + text_width(f"{drawn.section.verdict_name}. ", VERDICT_SIZE * unit, "bold")
        lines = wrapped_lines(parts.said, room, VERDICT_SIZE * unit, before)
    glossed, plain = (_heads(drawn, parts.legend, glossed, room, _SMALL * unit) for glossed in (True, False))
    shorter = sum(len(head.rows) for head in plain) < sum(len(head.rows) for head in glossed)
    return Sheet(wide, high, unit, parts, tuple(lines), plain if shorter else glossed)


def _heads(drawn: Scene, legend: bool, glossed: bool, room: float, size: float) -> tuple[PanelHeading, ...]:
    above, below = legend_entries(drawn, glossed) if legend else ([], [])
    shown = [(drawn.upper.words, above if drawn.lower else above + below)]
    shown += [(drawn.lower.words, below)] if drawn.lower else []
    begin = [text_width(f"↑ {words}", size, "code") + 1.6 * size for words, _ in shown]
    return tuple(
        PanelHeading(words, legend_rows(found, x, room, size)) for (words, found), x in zip(shown, begin, strict=True)
    )
