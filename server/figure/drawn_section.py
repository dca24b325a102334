"""The data of a figure, taken from an answer: titles, marks, and columns with None at gaps and near poles."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf, isfinite
from typing import Any

from ..documents.nouns import Nouns, nouns
from ..documents.pole_rows import rows_beside, with_gaps
from ..protocol.frames import Frame

Numbers = list[float | None]
_UNSEEN, _NOTHING = 1e-3, 1e-9
_RIGHT = ("matches", "matches here")


def visible_implied(word: str, columns: Mapping[str, Numbers | None]) -> Numbers | None:
    """The column ``implied``; None where there is none, where the verdict is that all matches, or where its curve could
    not be told from forward."""
    suggested, forward = columns.get("implied"), columns.get("forward") or []
    values = [value for value in forward if value is not None]
    if word in _RIGHT or not suggested or not values:
        return None
    low, high = min(values), max(values)
    seen = max(_UNSEEN * (high - low), _NOTHING * max(abs(low), abs(high)))
    pairs = zip(suggested, forward, strict=True)
    apart = any(value is not None and not abs(value - (real or 0.0)) <= seen for value, real in pairs)
    return suggested if apart else None


@dataclass(frozen=True)
class Mark:
    """A special point: at a kink the slopes on its ``left`` and ``right``, at a jump the values there."""

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
    """A section as it is drawn; ``columns`` lack what the answer lacks, ``status`` is a word a row."""

    title: str
    wrt: str
    nouns: Nouns
    start: float
    stop: float
    word: str
    sentence: str
    intervals: tuple[tuple[float, float], ...]
    x: list[float]
    columns: dict[str, Numbers]
    status: list[str]
    marks: tuple[Mark, ...]

    @classmethod
    def of_answer(cls, answer: Frame) -> DrawnSection:
        """From an answer, which may hold no more than a failure."""
        header, columns = answer.header, answer.columns
        verdict, statuses = header["verdict"], header["statuses"]
        return cls(
            title=header["title"],
            wrt=header["wrt"],
            nouns=nouns(header),
            start=header["start"],
            stop=header["stop"],
            word=verdict["word"],
            sentence=_failed(header["failure"]) or verdict["sentence"],
            intervals=tuple((low, high) for low, high in verdict["intervals"]),
            x=list(columns.get("x", ())),
            columns={name: _numbers(column) for name, column in columns.items() if name not in ("x", "status")},
            status=[statuses[code] for code in columns.get("status", ())],
            marks=tuple(map(_mark, header["marks"])),
        )

    def column(self, name: str) -> Numbers:
        return self.columns.get(name, [])


def _failed(failure: dict[str, Any] | None) -> str:
    return failure["sentence"] if failure else ""


def _numbers(column: memoryview) -> Numbers:
    return [value if isfinite(value) else None for value in column.tolist()]


def _mark(mark: dict[str, Any]) -> Mark:
    return Mark(**mark)


# The neighbourhood of a pole or cusp: this share of the range, and at most this share of the distance to the next.
_NEAR, _BETWEEN = 0.03, 0.2


def without_pole_surroundings(section: DrawnSection) -> DrawnSection:
    """``section`` without the values near its poles and cusps, whose size depends on where the points happen to lie."""
    places = [mark.x for mark in section.marks if mark.kind in ("pole", "cusp")]
    apart = min((right - left for left, right in pairwise(places)), default=inf)
    near = min(_NEAR * (section.stop - section.start), _BETWEEN * apart)
    return _without(section, {row for row, x in enumerate(section.x) if any(abs(x - at) < near for at in places)})


def without_poles(section: DrawnSection) -> DrawnSection:
    """``section`` without its poles: without their marks, and with gaps in the rows beside them."""
    rows = rows_beside(section.x, (mark.x for mark in section.marks if mark.kind == "pole"))
    kept = tuple(mark for mark in section.marks if mark.kind != "pole")
    return replace(_without(section, rows), marks=kept)


def _without(section: DrawnSection, rows: Collection[int]) -> DrawnSection:
    if not rows:
        return section
    return replace(section, columns={name: with_gaps(column, rows) for name, column in section.columns.items()})
