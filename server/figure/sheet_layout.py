"""Layout of a sheet of a given size; where space is short, parts are left out, the least important first."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from ..documents.typography import typeset_powers, typeset_sentence
from .axes import fitting_labels
from .legend_keys import LegendEntry, legend_rows
from .panel import Panel
from .svg_elements import text_width, wrapped_lines

_UNIT = 10.0  # the font size: at least so many px
_COLUMNS, _MORE, _ROWS = 50, 6, 26  # font sizes: the width of a sheet, more with each further column; its height
_SMALL, VERDICT_SIZE = 0.8, 0.84  # the sizes of labels and of the verdict, in units
# Heights in units: the edges, and rows of each kind; and the room between columns.
_PAD, _BOTTOM, APART, CLOSE, _GAP = 1.1, 0.75, 0.5, 0.15, 1.6
TITLE, LINE, HEAD, COLUMN, _LABELS, _NAME, _FOOT = 1.95, 1.25, 1.45, 1.7, 1.4, 1.2, 1.3
ICON_WIDTH = 1.5  # the width of the verdict icon
_SENTENCES, _LETTERS = 8, 400  # limits of the verdict's text: sentences, and characters of each
_WANTED, _ENOUGH, _LEAST = 6.2, 4.0, 2.6  # the height of a panel, in units
_ALONE = 1.6  # the required height of a single panel, relative to that of one of two
_BESIDE, _BELOW = 2.2, 7.5  # the least distance between labels, in font sizes: on the y-axis and on the x-axis
_MOST, _MOST_ALONE, _MOST_BELOW = 5, 8, 8
_LETTER = 0.8  # the width of a label in the font of the page, which ticks assume, relative to DejaVu Sans


@dataclass(frozen=True)
class Picture:
    """What a sheet shows: panels in rows, above them what they are and what was found, and a footer.

    ``about`` are title and description for who does not see it. ``word`` is that of the verdict, with the name of its
    ``mark``, empty where the ``sentence`` stands alone. ``columns`` are headings, each with what goes on behind it.
    """

    title: str
    about: tuple[str, str]
    sentence: str
    rows: tuple[tuple[Panel, ...], ...]
    footer: str = ""
    word: str = ""
    mark: str = ""
    columns: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class SheetParts:
    """Which parts are shown apart from the panels; ``said`` is the text of the verdict, None where it is left out."""

    title: bool
    said: str | None
    legend: bool
    name: bool
    foot: bool


@dataclass(frozen=True)
class PlacedPanel:
    """A panel with labels on its axes, and its place in pixels; ``labelled`` where those of its x-axis are shown."""

    panel: Panel
    left: float
    right: float
    top: float
    labelled: bool


@dataclass(frozen=True)
class Sheet:
    """The layout: size in pixels, font size ``unit``; the first of ``lines`` comes after the word of the verdict."""

    picture: Picture
    width: float
    height: float
    unit: float
    parts: SheetParts
    lines: tuple[str, ...]

    @property
    def pad(self) -> float:
        return _PAD * self.unit

    @property
    def small(self) -> float:
        """The font size of labels and legends."""
        return _SMALL * self.unit

    @cached_property
    def columns(self) -> tuple[tuple[float, float], ...]:
        """From where to where each column of panels goes, labels included."""
        count = max(map(len, self.picture.rows), default=1)
        wide = (self.width - 2 * self.pad - (count - 1) * _GAP * self.unit) / count
        starts = (self.pad + i * (wide + _GAP * self.unit) for i in range(count))
        return tuple((start, start + wide) for start in starts)

    @cached_property
    def legends(self) -> tuple[tuple[list[list[tuple[float, LegendEntry]]], ...], ...]:
        """By row and column the legend of a panel, in rows, each entry with its x."""
        return tuple(tuple(map(self._legend, row)) for row in self.picture.rows)

    def _legend(self, panel: Panel) -> list[list[tuple[float, LegendEntry]]]:
        left, right = self.columns[0]
        begin = text_width(f"{'↑ ' * panel.arrow}{panel.words}", self.small, "code") + 1.6 * self.small
        shown = (panel.legend, *filter(None, [panel.brief])) if self.parts.legend else ((),)
        return min((legend_rows([*entries], begin, right - left, self.small) for entries in shown), key=len)

    def head(self, row: int) -> float:
        """The height of what stands above a row of panels, in units."""
        return APART + HEAD * max(map(len, self.legends[row])) + CLOSE

    def is_labelled(self, row: int) -> bool:
        """Whether the labels of the x-axes stand below this row: else those below the next one are the same."""
        rows = self.picture.rows
        return row + 1 == len(rows) or [one.across for one in rows[row]] != [other.across for other in rows[row + 1]]

    def below(self, row: int) -> float:
        """The height of the labels below a row of panels, in units."""
        return (_LABELS + _NAME * self.parts.name) * self.is_labelled(row)

    @property
    def top(self) -> float:
        """Where the rows of panels begin, in units."""
        above = TITLE * self.parts.title + LINE * len(self.lines) + COLUMN * bool(self.picture.columns)
        return _PAD + above

    @cached_property
    def panel_height(self) -> float:
        """The height of a panel, in units."""
        rows = range(len(self.picture.rows))
        around = sum(self.head(row) + self.below(row) for row in rows) + _FOOT * self.parts.foot + _BOTTOM
        return (self.height / self.unit - self.top - around) / max(1, len(rows))

    def placed(self) -> list[list[PlacedPanel]]:
        """The panels by column, from above; those of a column begin and end at one x."""
        tops, y = list[float](), self.top
        for row in range(len(self.picture.rows)):
            y += self.head(row)
            tops.append(y * self.unit)
            y += self.panel_height + self.below(row)
        columns = zip(zip(*self.picture.rows, strict=True), self.columns, strict=False)
        return [self._placed(panels, edges, tops) for panels, edges in columns]

    def _placed(self, panels: tuple[Panel, ...], edges: tuple[float, float], tops: list[float]) -> list[PlacedPanel]:
        size = self.small
        count = max(2, min(_MOST if len(panels) > 1 else _MOST_ALONE, self.panel_height * self.unit / (_BESIDE * size)))
        ups = [replace(panel.up, ticks=panel.labels_beside(count)) for panel in panels]
        left = edges[0] + max((text_width(tick.text, size) for up in ups for tick in up.ticks), default=0) + 0.55 * size
        room, placed = edges[1] - left, list[PlacedPanel]()
        many = int(max(2, min(_MOST_BELOW, room / (_BELOW * size))))
        across = [
            replace(panel.across, ticks=fitting_labels(panel.labels_below, many, _LETTER * room / size))
            for panel in panels
        ]
        ends = (
            text_width(tick.text, size) / 2 for axis in across for tick in axis.ticks if axis.share(tick.value) > 0.95
        )
        right = edges[1] - max(
            0.0, max(ends, default=0.0) - 0.8 * self.unit
        )  # the last label may reach that far beyond
        for row, panel in enumerate(panels):
            labelled = replace(panel, across=across[row], up=ups[row])
            placed.append(PlacedPanel(labelled, left, right, tops[row], self.is_labelled(row)))
        return placed


def lay_out_sheet(picture: Picture, wide: float, high: float, hide: tuple[str, ...]) -> Sheet:
    """The first layout whose panels are high enough."""
    columns = max(map(len, picture.rows), default=1)
    unit = max(_UNIT, min(wide / (_COLUMNS + _MORE * (columns - 1)), high / _ROWS))
    for parts, wanted in _choices(picture, hide):
        sheet = Sheet(picture, wide, high, unit, parts, tuple(_lines(picture, wide, unit, parts.said)))
        if sheet.panel_height >= wanted * (_ALONE if len(picture.rows) == 1 else 1):
            break
    return sheet


def _choices(picture: Picture, hide: tuple[str, ...]) -> Iterator[tuple[SheetParts, float]]:
    """The selections of parts, richest first, each with the height that its panels need."""
    title, legend, foot = ("title" not in hide, "legend" not in hide, "controls" not in hide)
    word = None if "verdict" in hide else ""
    sentences = [] if "verdict" in hide else _sentences(picture.sentence)
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


def _lines(picture: Picture, wide: float, unit: float, said: str | None) -> list[str]:
    """The lines of the verdict, the first of them behind its word."""
    if said is None or not (said or picture.word):
        return []
    word = ICON_WIDTH * unit + text_width(f"{picture.word}. ", VERDICT_SIZE * unit, "bold") if picture.word else 0.0
    return wrapped_lines(said, wide - 2 * _PAD * unit, VERDICT_SIZE * unit, word)
