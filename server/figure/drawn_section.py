"""The data of a figure, taken from an answer: titles, marks, and columns with None at gaps and near poles; and what it
leaves out, so that its readers can predict what is measured before they look.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import Any

from ..documents.columns import finite_numbers, rows_beside, with_gaps
from ..documents.typography import nouns
from ..protocol.answer import CurvesAnswer
from ..protocol.frames import Frame
from ..schema.section import JumpRecord, KinkRecord, Nouns, SeenRecord
from ..schema.verdict_words import FORWARD_WORDS, verdict_mark, verdict_name

Numbers = list[float | None]
RIGHT = ("agrees", "subgradient")  # statuses
_UNSEEN, _NOTHING = 1e-3, 1e-9
# The highest bar, as a share of the panel; how much higher one on a kink may be, and how wide it is.
_BAR, _STANDS_OUT, _NARROW = 0.25, 2.0, 0.008


@dataclass(frozen=True)
class Mark:
    """A special point: at a kink the gradients on its ``left`` and ``right``, at a jump the values there."""

    kind: str
    x: float
    forward: float | None = None
    analytical: float | None = None
    left: float | None = None
    right: float | None = None
    below: float | None = None
    above: float | None = None

    @property
    def bent(self) -> bool:
        """Whether forward is continuous there and its slope is not."""
        return self.kind in ("kink", "cusp")


@dataclass(frozen=True)
class DrawnSection:
    """A section as it is drawn; ``columns`` lack what the answer lacks, ``status`` is a word a row.

    ``seen`` are bars of the numbers of a step: from, to, and height as a share of the panel.
    """

    title: str
    wrt: str
    nouns: Nouns
    start: float
    stop: float
    claim: str
    word: str
    sentence: str
    intervals: tuple[tuple[float, float], ...]
    x: list[float]
    columns: dict[str, Numbers]
    status: list[str]
    marks: tuple[Mark, ...]
    seen: tuple[tuple[float, float, float], ...] = ()

    @classmethod
    def of_answer(cls, answer: CurvesAnswer) -> DrawnSection:
        """From an answer, which may hold no more than a failure."""
        header, columns = answer.header, answer.columns
        verdict, statuses = header["verdict"], header["statuses"]
        unseen = ("x", "status", *(() if header["numerical"] else ("numerical", "error")))
        return cls(
            title=header["title"],
            wrt=header["wrt"],
            nouns=nouns(header),
            start=header["start"],
            stop=header["stop"],
            claim=header["claim"],
            word=verdict["word"],
            sentence=(header["failure"] or verdict)["sentence"],
            intervals=tuple((low, high) for low, high in verdict["intervals"]),
            x=list(columns.get("x", ())),
            columns={name: finite_numbers(column.tolist()) for name, column in columns.items() if name not in unseen},
            status=[statuses[code] for code in columns.get("status", ())],
            marks=tuple(Mark(**each) for each in header["marks"]),
            seen=tuple(_bars(header["seen"], header["stop"] - header["start"])) if header["seen"] else (),
        )

    def column(self, name: str) -> Numbers:
        return self.columns.get(name, [])

    @property
    def verdict_name(self) -> str:
        """The word as people read it."""
        return verdict_name(self.word, self.claim)

    @property
    def mark(self) -> str:
        """The name of its mark."""
        return verdict_mark(self.word, self.claim)

    @cached_property
    def visible_implied(self) -> Numbers | None:
        """The column ``implied``; None where there is none, where the verdict is that all matches, or where its curve
        could not be told from forward."""
        suggested, forward = self.columns.get("implied"), self.column("forward")
        values = [value for value in forward if value is not None]
        if self.word in FORWARD_WORDS or not suggested or not values:
            return None
        low, high = min(values), max(values)
        seen = max(_UNSEEN * (high - low), _NOTHING * max(abs(low), abs(high)))
        pairs = zip(suggested, forward, strict=True)
        apart = any(value is not None and not abs(value - (real or 0.0)) <= seen for value, real in pairs)
        return suggested if apart else None


def finite_column(answer: Frame[Any], name: str) -> Numbers:
    """A column of numbers, None where there is no finite one; empty where there is no such column."""
    return finite_numbers(answer.columns[name].tolist()) if name in answer.columns else []


def words_of_status(answer: Frame[Any], name: str = "status") -> list[str]:
    """The status of each row."""
    return [answer.header["statuses"][code] for code in answer.columns.get(name, ())]


def _bars(seen: SeenRecord, span: float) -> Iterator[tuple[float, float, float]]:
    """The bins that are not empty, and a narrow bar at each kink that numbers lie on, which may stand out by far."""
    bins, narrow = [each for each in seen["inputs"] if each[2]], _NARROW * span / 2
    full = max((share for _, _, share in bins), default=1.0)
    for low, high, share in [*bins, *((at - narrow, at + narrow, share) for at, share in seen["kinks"])]:
        yield low, high, _BAR * min(_STANDS_OUT, share / full)


# The neighbourhood of a pole or cusp: this share of the range, and at most this share of the distance to the next.
_NEAR, _BETWEEN = 0.03, 0.2


def steep_places(section: DrawnSection) -> list[tuple[float, float]]:
    """The neighbourhoods of poles and cusps, from where to where."""
    places = [mark.x for mark in section.marks if mark.kind in ("pole", "cusp")]
    apart = min((right - left for left, right in pairwise(places)), default=inf)
    near = min(_NEAR * (section.stop - section.start), _BETWEEN * apart)
    return [(at - near, at + near) for at in places]


def without_pole_surroundings(section: DrawnSection) -> DrawnSection:
    """``section`` without the values near its poles and cusps, whose size depends on where the points happen to lie."""
    steep = steep_places(section)
    rows = {row for row, x in enumerate(section.x) if any(low < x < high for low, high in steep)} if steep else ()
    return _without(section, rows)


def pole_rows(section: DrawnSection) -> set[int]:
    """The rows at and beside the poles, which are not drawn."""
    return rows_beside(section.x, (mark.x for mark in section.marks if mark.kind == "pole"))


def without_poles(section: DrawnSection) -> DrawnSection:
    """``section`` without its poles: without their marks, and with gaps in the rows beside them."""
    kept = tuple(mark for mark in section.marks if mark.kind != "pole")
    return replace(_without(section, pole_rows(section)), marks=kept)


def _without(section: DrawnSection, rows: Collection[int]) -> DrawnSection:
    if not rows:
        return section
    return replace(section, columns={name: with_gaps(column, rows) for name, column in section.columns.items()})


_MEASURED = ("numerical", "error", "left", "right")  # columns


def without_hidden(answer: CurvesAnswer, hide: Collection[str]) -> CurvesAnswer:
    """The answer without what ``hide`` names: the numerical gradient, the implied curve, the intervals that are shaded.

    Without the numerical gradient nothing in its columns, marks and statuses tells what it was.
    """
    header, columns = answer.header.copy(), dict(answer.columns)
    header["verdict"] = header["verdict"].copy()
    if "implied" in hide:
        columns.pop("implied", None)
    if "shading" in hide:
        header["verdict"]["intervals"] = []
    if "numerical" in hide and columns:
        count = len(columns["x"])
        columns |= {name: memoryview(array("d", [float("nan")]) * count) for name in _MEASURED}
        columns["status"] = memoryview(bytes([header["statuses"].index("gap")]) * count)
        columns.pop("surrogate_numerical", None)
        header["marks"] = [_without_slopes(mark) for mark in header["marks"]]
        header["numerical"] = header["verdict"]["worst"] = None
    return replace(answer, header=header, columns=columns)


def _without_slopes(mark: KinkRecord | JumpRecord) -> KinkRecord | JumpRecord:
    if mark["kind"] == "kink" or mark["kind"] == "cusp":
        return {**mark, "left": None, "right": None}
    return mark
