"""Layout of a sheet of a given size; where space is short, parts are left out, the least important first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..documents.typography import powers, prose
from .font_metrics import width, wrapped
from .legend_keys import Sample, rows, samples
from .scene import Scene

UNIT, _COLUMNS, _ROWS = 10.0, 50, 26  # the font size: at least so many px; and so many font sizes wide and high
_SMALL, SAID = 0.8, 0.84  # the sizes of labels and of the verdict, in units
# Heights in units: the edges, and rows of each kind.
PAD, BOTTOM, APART, CLOSE = 1.1, 0.75, 0.5, 0.15
TITLE, LINE, HEAD, _LABELS, _NAME, FOOT = 1.95, 1.25, 1.45, 1.4, 1.2, 1.3
SIGN = 1.5  # the width of the verdict icon
SENTENCES, LETTERS = 8, 400  # limits of the verdict's text: sentences, and characters of each
WANTED, _ENOUGH, _LEAST = 6.2, 4.0, 2.6  # the height of a panel, in units
_ALONE = 1.6  # the required height of a single panel, relative to that of one of two


@dataclass(frozen=True)
class Parts:
    """Which parts are shown apart from the panels; ``said`` is the text of the verdict, None where it is left out."""

    title: bool
    said: str | None
    legend: bool
    name: bool
    foot: bool


@dataclass(frozen=True)
class Head:
    """The heading of a panel: the axis title, and the rows of the legend, each entry with its x."""

    words: str
    rows: list[list[tuple[float, Sample]]]


@dataclass(frozen=True)
class Sheet:
    """The layout: size in pixels, font size ``unit``; the first of ``lines`` comes after the word of the verdict."""

    width: float
    height: float
    unit: float
    parts: Parts
    lines: tuple[str, ...]
    heads: tuple[Head, ...]

    @property
    def pad(self) -> float:
        """The padding."""
        return PAD * self.unit

    @property
    def small(self) -> float:
        """The font size of labels and legends."""
        return _SMALL * self.unit

    @property
    def each(self) -> float:
        """The height of a panel, in units."""
        heads = sum(APART + HEAD * len(head.rows) + CLOSE for head in self.heads)
        below = _LABELS + _NAME * self.parts.name + FOOT * self.parts.foot + BOTTOM
        above = PAD + TITLE * self.parts.title + LINE * len(self.lines)
        return (self.height / self.unit - above - heads - below) / len(self.heads)


def sheet(drawn: Scene, wide: float, high: float, hide: tuple[str, ...]) -> Sheet:
    """The first layout whose panels are high enough."""
    unit = max(UNIT, min(wide / _COLUMNS, high / _ROWS))
    for parts, wanted in _choices(drawn, hide):
        found = _arranged(drawn, wide, high, unit, parts)
        if found.each >= wanted * (1 if drawn.lower else _ALONE):
            break
    return found


def _choices(drawn: Scene, hide: tuple[str, ...]) -> Iterator[tuple[Parts, float]]:
    """The selections of parts, richest first, each with the height that its panels need."""
    title, legend, foot = ("title" not in hide, "legend" not in hide, "controls" not in hide)
    word = None if "verdict" in hide else ""
    sentences = [] if "verdict" in hide else _sentences(drawn.section.sentence)
    for count in range(len(sentences), 0, -1):
        for below in (foot, False):
            yield Parts(title, " ".join(sentences[:count]), legend, True, below), WANTED
    yield Parts(title, word, legend, True, foot), WANTED
    yield Parts(title, word, legend, True, False), _ENOUGH
    yield Parts(title, word, False, True, False), _ENOUGH
    yield Parts(title, word, False, False, False), _LEAST
    yield Parts(title, None, False, False, False), _LEAST
    yield Parts(False, None, False, False, False), 0.0


def _sentences(text: str) -> list[str]:
    whole = text if len(text) <= SENTENCES * LETTERS else f"{text[: SENTENCES * LETTERS]}…"
    found = re.split(r"(?<=[.]) ", powers(prose(whole)))[:SENTENCES]
    return [each if len(each) <= LETTERS else f"{each[:LETTERS]}…" for each in found]


def _arranged(drawn: Scene, wide: float, high: float, unit: float, parts: Parts) -> Sheet:
    room, lines = wide - 2 * PAD * unit, []
    if parts.said is not None:
        before = SIGN * unit + width(f"{drawn.section.word}. ", SAID * unit, "bold")
        lines = wrapped(parts.said, room, SAID * unit, before)
    glossed, plain = (_heads(drawn, parts.legend, glossed, room, _SMALL * unit) for glossed in (True, False))
    shorter = sum(len(head.rows) for head in plain) < sum(len(head.rows) for head in glossed)
    return Sheet(wide, high, unit, parts, tuple(lines), plain if shorter else glossed)


def _heads(drawn: Scene, legend: bool, glossed: bool, room: float, size: float) -> tuple[Head, ...]:
    above, below = samples(drawn, glossed) if legend else ([], [])
    shown = [(drawn.upper.words, above if drawn.lower else above + below)]
    shown += [(drawn.lower.words, below)] if drawn.lower else []
    begin = [width(f"↑ {words}", size, "code") + 1.6 * size for words, _ in shown]
    return tuple(Head(words, rows(found, x, room, size)) for (words, found), x in zip(shown, begin, strict=True))
