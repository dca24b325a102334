"""The differences between two sections of one range, in sentences: forward, backward, linearity and the verdicts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ..documents.columns import document_columns, nearest_row
from ..documents.typography import nouns, number_within_span, typeset_number
from ..protocol.answer import CurvesAnswer
from ..protocol.listed import listed
from ..schema.section import Ends, Nouns, SectionRecord
from ..schema.verdict_words import verdict_name

_FEW_SHARED = 0.5  # of the x: where less are common to both (as with two dtypes), their number is mentioned
_MAX_STRETCHES = 3  # stretches that are listed one by one
_NOWHERE = 1e-9  # of the range: so near 0 a place is 0
_TIED = 1 - 1e-6  # of the largest difference: from here on as large

_Columns = tuple[dict[str, list[float]], dict[str, list[float]]]
_Row = tuple[float, float, float]  # x, and the values on the left and on the right


@dataclass(frozen=True)
class _StretchEnd:
    """The end of a stretch, and whether the stretch includes it."""

    x: float
    included: bool


@dataclass(frozen=True)
class _ComparedRows:
    """The comparison of a column of both answers: its rows, and whether each of them differs."""

    rows: list[_Row]
    apart: list[bool]


def difference_sentences(left: CurvesAnswer, right: CurvesAnswer, names: tuple[str, str]) -> list[str]:
    """Sentences on forward, backward and the verdicts; ``names`` are the titles of the two ops."""
    columns = _lists(left), _lists(right)
    nothing = [name for name, each in zip(names, columns, strict=True) if not each["x"]]
    if nothing:
        return [f"{listed(nothing)} failed, so there is nothing to compare."]
    shared = len(set(columns[0]["x"]).intersection(columns[1]["x"]))
    if not shared:
        return ["The two have no x in common, so there is nothing to compare; give both one dtype."]
    both = _comparison(left, right, names, shared)
    return [both.forward(columns), both.backward(columns), *both.law(), both.verdicts()]


def difference_stretches(left: CurvesAnswer, right: CurvesAnswer) -> tuple[list[Ends], list[Ends]]:
    """From where to where forward differs between two sections, and from where to where backward does."""
    columns = _lists(left), _lists(right)
    both = _comparison(left, right, ("", ""), len(columns[0]["x"]))
    return both.places(columns, "forward"), both.places(columns, "analytical")


def _comparison(left: CurvesAnswer, right: CurvesAnswer, names: tuple[str, str], shared: int) -> _Comparison:
    headers, columns = (left.header, right.header), (_lists(left), _lists(right))
    swept = headers[0]["wrt"] if headers[0]["wrt"] == headers[1]["wrt"] else "x"
    marks = sorted(mark["x"] for header in headers for mark in header["marks"])
    ends = sorted(end for header in headers for interval in header["verdict"]["intervals"] for end in interval)
    few = shared < _FEW_SHARED * min(len(each["x"]) for each in columns)
    at = f" at the {shared} values of {swept} that both have" if few else ""
    return _Comparison(swept, nouns(headers[0]), names, headers, marks, ends, at)


def _lists(answer: CurvesAnswer) -> dict[str, list[float]]:
    """The columns that there are."""
    return {name: column for name, column in document_columns(answer).items() if column is not None}


@dataclass(frozen=True)
class _Comparison:
    swept: str
    nouns: Nouns
    names: tuple[str, str]
    headers: tuple[SectionRecord, SectionRecord]
    marks: list[float]  # from left to right
    ends: list[float]  # of the intervals in which backward was found to differ
    at: str  # which x were compared, if they were few

    def forward(self, columns: _Columns) -> str:
        hidden = [set(_gaps(header, ("jump",))) for header in self.headers]
        found = self._compared(columns, "forward", hidden)
        if not any(found.apart):
            return f"{self.nouns.forward} is the same in both{self.at or self._everywhere()}."
        where = self._where(found)
        return f"{self.nouns.forward} differs {where}: {self._example(found, where, 'is')}."

    def backward(self, columns: _Columns) -> str:
        failed = [name for name, header in zip(self.names, self.headers, strict=True) if header["failure"]]
        if failed:
            return f"{self.nouns.backward} cannot be compared: that of {listed(failed)} failed."
        without = [name for name, each in zip(self.names, columns, strict=True) if "analytical" not in each]
        if without:
            verb = "returns" if len(without) == 1 else "return"
            return f"{self.nouns.backward} cannot be compared: {listed(without)} {verb} no gradient."
        found = self._compared(columns, "analytical", [set(), set()])
        given = [header["grad_output"] for header in self.headers]
        sent = f"For grad_output {' and '.join(typeset_number(each) for each in dict.fromkeys(given))}"
        if not any(found.apart):
            return f"{sent} {self.nouns.backward} returns the same in both{self.at}."
        where = self._where(found)
        return f"{sent} {self.nouns.backward} differs {where}: {self._example(found, where, 'returns')}."

    def law(self) -> Iterator[str]:
        """A sentence where the backward of one of them is linear in grad_output and the other's is not."""
        holds = [header["linearity"]["holds"] for header in self.headers]
        if sorted(map(str, holds)) == ["False", "True"]:
            broken = holds.index(False)
            one, other = self.names[broken], self.names[1 - broken]
            laws = {each["law"]: each["sentence"] for each in self.headers[broken]["linearity"]["findings"]}
            if "odd" in laws:
                laws["odd"] = f"{self.nouns.backward} is not linear in grad_output: flip the sign to see it."
            yield f"For {one}, and not for {other}, {laws.get('odd') or next(iter(laws.values()))}"

    def verdicts(self) -> str:
        words = [verdict_name(header["verdict"]["word"], header["claim"]) for header in self.headers]
        if words[0] == words[1]:
            return f"The verdict is the same, “{words[0]}”."
        return f"The verdicts are “{words[0]}” for {self.names[0]} and “{words[1]}” for {self.names[1]}."

    def places(self, columns: _Columns, name: str) -> list[Ends]:
        """The stretches in which a column differs; none where one of the two does not have it."""
        if any(name not in each for each in columns):
            return []
        gaps = ("jump",) if name == "forward" else ()
        hidden = [set(_gaps(header, gaps)) if gaps else set[int]() for header in self.headers]
        return [(low.x, high.x) for low, high in self._stretches(self._compared(columns, name, hidden))]

    def _compared(self, columns: _Columns, name: str, hidden: list[set[int]]) -> _ComparedRows:
        rows = list(_common(columns, name, hidden))
        atol = max(self._tolerance("atol")) if name == "analytical" else 0.0
        rtol = max(self._tolerance("rtol"))
        sizes = [abs(value) for _, *pair in rows for value in pair if math.isfinite(value)]
        least = max(atol, rtol * max(sizes, default=0.0))
        return _ComparedRows(rows, [not _equal(one, other, least) for _, one, other in rows])

    def _tolerance(self, name: Literal["atol", "rtol"]) -> list[float]:
        return [header["tolerance"][name] for header in self.headers if header["tolerance"]] or [0.0]

    def _everywhere(self) -> str:
        start, stop = self.headers[0]["start"], self.headers[0]["stop"]
        return f" from {number_within_span(start, stop - start)} to {number_within_span(stop, stop - start)}"

    def _where(self, found: _ComparedRows) -> str:
        stretches = list(self._stretches(found))
        if len(stretches) > _MAX_STRETCHES:
            low, high = stretches[0][0].x, stretches[-1][1].x
            return f"in {len(stretches)} stretches between {self._x(low)} and {self._x(high)}"
        return listed([self._stretch(*each) for each in stretches])

    def _stretch(self, low: _StretchEnd, high: _StretchEnd) -> str:
        first, last = low.x <= self.headers[0]["start"], high.x >= self.headers[0]["stop"]
        if first and last:
            return f"everywhere{self._everywhere()}"
        if low.x == high.x:
            return f"at {self.swept} = {self._x(low.x)}"
        below = "" if last else f" {'≤' if high.included else '<'} {self._x(high.x)}"
        if first:
            return f"for {self.swept}{below}"
        if last:
            return f"for {self.swept} {'≥' if low.included else '>'} {self._x(low.x)}"
        return f"for {self._x(low.x)} {'≤' if low.included else '<'} {self.swept}{below}"

    def _stretches(self, found: _ComparedRows) -> Iterator[tuple[_StretchEnd, _StretchEnd]]:
        """The stretches in which rows differ; one row alone is a point."""
        first = None
        for i, differs in enumerate([*found.apart, False]):
            if differs and first is None:
                first = i
            elif not differs and first is not None:
                alone = first == i - 1 and 0 < first < len(found.rows) - 1
                low, high = self._stretch_end(found, first, first - 1), self._stretch_end(found, i - 1, i)
                yield (_StretchEnd(found.rows[first][0], True),) * 2 if alone else (low, high)
                first = None

    def _stretch_end(self, found: _ComparedRows, last: int, beyond: int) -> _StretchEnd:
        """The end of a stretch with this last row: at a special point, else at the first row beyond it."""
        x = found.rows[last][0]
        if not 0 <= beyond < len(found.rows):
            return _StretchEnd(x, True)
        low, high = sorted((x, found.rows[beyond][0]))
        between = (end for end in self.ends if low < end < high)
        at = next((mark for mark in self.marks if low <= mark <= high), next(between, found.rows[beyond][0]))
        return _StretchEnd(at, at == x)

    def _example(self, found: _ComparedRows, where: str, verb: str) -> str:
        """The values at one of the rows that differ most: preferably with a short x, well inside the stretch."""
        ends = [end for stretch in self._stretches(found) for end in stretch]
        outside = {self._x(end.x) for end in ends if not end.included}
        apart = [row for row, differs in zip(found.rows, found.apart, strict=True) if differs]
        apart = [row for row in apart if self._x(row[0]) not in outside] or apart
        finite = [row for row in apart if math.isfinite(row[1] - row[2])]
        most = max((abs(one - other) for _, one, other in finite), default=0.0)
        widest = [row for row in finite if abs(row[1] - row[2]) >= _TIED * most] or apart
        edges = [end.x for end in ends]

        def clumsiness(row: _Row) -> tuple[bool, int, float]:
            within = abs(row[0] - edges[nearest_row(edges, row[0])])
            return row[0] in self.marks or not within, len(self._x(row[0])), -within

        x, *values = min(widest, key=clumsiness)
        texts = ["not a number" if math.isnan(each) else typeset_number(each) for each in values]
        if texts[0] == texts[1]:
            texts = [typeset_number(each, 10) for each in values]
        at, (left, right) = f"at {self.swept} = {self._x(x)}", self.names
        at = "there" if at == where else at
        if verb == "is":
            return f"{at} it is {texts[0]} in {left}, {texts[1]} in {right}"
        return f"{at} {left} {verb} {texts[0]}, {right} {texts[1]}"

    def _x(self, x: float) -> str:
        span = self.headers[0]["stop"] - self.headers[0]["start"]
        return number_within_span(x if abs(x) > _NOWHERE * span else 0.0, span)


def _common(columns: _Columns, name: str, hidden: list[set[int]]) -> Iterator[_Row]:
    """The rows whose x both answers have, without the hidden ones."""
    places = []
    for each, rows in zip(columns, hidden, strict=True):
        shown = [(x, each[name][row]) for row, x in enumerate(each["x"]) if row not in rows]
        places.append(dict(shown))
    for x in sorted(places[0].keys() & places[1].keys()):
        yield x, places[0][x], places[1][x]


def _gaps(header: SectionRecord, reasons: tuple[str, ...]) -> Iterator[int]:
    for reason in reasons:
        yield from header["gaps"].get("forward", {}).get(reason, ())


def _equal(one: float, other: float, least: float) -> bool:
    if math.isfinite(one) and math.isfinite(other):
        return abs(one - other) <= least
    return one == other or (math.isnan(one) and math.isnan(other))
