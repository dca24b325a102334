"""The text alternative of a figure: summary, data table, table of kinks and jumps, method, readings of the cursor."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Final, Literal

from markupsafe import Markup, escape

from ..protocol.parameter_kinds import LARGEST
from ..schema.page import ReadingsRecord
from ..schema.section import Ends, JumpRecord, KinkRecord, SectionDocument, WorstRecord
from ..schema.verdict_words import DESIGNED, FAILING_WORDS
from .columns import extreme_values, nearest_row, rows_beside, with_gaps
from .typography import (
    nouns,
    number_apart_from,
    number_on_grid,
    number_within_span,
    typeset_number,
    typeset_powers,
    typeset_sentence,
)

_MAX_ROWS = 24
_SAME = 1e-9  # numbers that differ by no more than this share are one
_FEW = 2  # of no more points it is not told that they differ equally
_STRUCTURES = {
    "together": "Many points were computed in one call.",
    "one by one": "The Function was called once for each point.",
}
_CODE = re.compile(
    r"(`[^`]+`|\.backward\(\)|@\w+|\b(?:torch|ctx)(?:\.\w+)+"
    r"|(?<!double )(?<!Double )\b(?:forward|backward|grad_\w+(?:\[[\d,]+\])?|None)(?!\w))",
    re.ASCII,
)
_Numbers = list[float | None]


def code_markup(text: str) -> Markup:
    """A sentence as HTML, with identifiers and what stands between backticks in ``<code>``."""
    pieces = _CODE.split(typeset_powers(typeset_sentence(text)))
    return Markup("").join(
        Markup("<code>{}</code>").format(piece.strip("`")) if i % 2 else escape(piece) for i, piece in enumerate(pieces)
    )


@dataclass(frozen=True)
class _CurveDocument:
    """A document of curves with the values beside its poles removed."""

    answer: SectionDocument
    columns: dict[str, _Numbers]
    marks: list[KinkRecord | JumpRecord]
    infinite: list[float]

    @classmethod
    def of_answer(cls, answer: SectionDocument) -> _CurveDocument:
        columns, marks = answer["columns"], answer["marks"]
        poles = [mark["x"] for mark in marks if mark["kind"] == "pole"]
        rows = rows_beside(columns["x"], poles)
        drawn = {"forward": columns["forward"], "analytical": columns["analytical"], "surrogate": columns["surrogate"]}
        cut = {name: with_gaps(column or (), rows) for name, column in drawn.items()}
        kept = [mark for mark in marks if mark["kind"] != "pole"]
        return cls(answer, cut, kept, [columns["x"][nearest_row(columns["x"], x)] for x in poles])

    def runs(self, name: str) -> str:
        """Between which numbers a curve lies."""
        ends = extreme_values(self.answer["columns"]["x"], self.columns[name])
        if ends is None:
            return "has no finite value"
        low, high = ends
        if high - low <= _SAME * max(abs(low), abs(high)):
            return f"is {typeset_number(high)} everywhere"
        return f"lies between {number_within_span(low, high - low)} and {number_within_span(high, high - low)}"

    @property
    def span(self) -> float:
        return float(self.answer["stop"]) - float(self.answer["start"])


def summary_sentences(answer: SectionDocument) -> list[str]:
    """Sentences about a document of curves, most important first."""
    if not answer["columns"]["x"]:
        return ["Nothing could be computed, so there is nothing to draw."]
    curves = _CurveDocument.of_answer(answer)
    sentences = [_range(curves)]
    if not curves.infinite:
        if curves.columns["analytical"]:
            sentences.append(_returned(answer, curves.runs("analytical")))
        if curves.columns["surrogate"]:
            meant = "The surrogate" if answer["order"] == 1 else "The gradient of the surrogate"
            sentences.append(f"{meant} {curves.runs('surrogate')}.")
    if worst := answer["verdict"]["worst"]:
        sentences.append(_worst(worst, answer))
    if not curves.marks and not curves.infinite:
        there = "There is" if answer["order"] == 1 else f"{nouns(answer).of} has"
        sentences.append(f"{there} no kink and no jump in this range.")
    return sentences


def _range(curves: _CurveDocument) -> str:
    answer, span = curves.answer, curves.span
    wrt, of = answer["wrt"], nouns(answer).of
    if answer["order"] == 2:
        of += f", what backward returns for grad_output {typeset_number(answer['grad_output'])},"
    infinite = ", ".join(number_within_span(x, span) for x in curves.infinite)
    runs = f"grows without bound at {wrt} = {infinite}" if infinite else curves.runs("forward")
    return (
        f"{wrt} goes from {number_within_span(answer['start'], span)} to {number_within_span(answer['stop'], span)}; "
        f"{of} {runs}."
    )


def _returned(answer: SectionDocument, runs: str) -> str:
    if answer["order"] == 2:
        return f"Its derivative by autograd, of double backward, {runs}."
    return f"With grad_output {typeset_number(answer['grad_output'])}, backward returns a gradient that {runs}."


def _worst(worst: WorstRecord, answer: SectionDocument) -> str:
    analytical, numerical = _finite(worst["analytical"]), _finite(worst["numerical"])
    at = f"at {answer['wrt']} = {number_within_span(worst['x'], answer['stop'] - answer['start'])}"
    same = _same_difference(answer)
    where = f"by {typeset_number(same)} wherever they do, as {at}" if same else f"most {at}"
    return (
        f"They differ {where}: analytical {number_apart_from(analytical, numerical)}, "
        f"numerical {number_apart_from(numerical, analytical)}."
    )


def _same_difference(answer: SectionDocument) -> float | None:
    """By how much analytical and numerical differ, where that is the same at all points where they do."""
    columns, differs = answer["columns"], answer["statuses"].index("differs")
    pairs = zip(columns["analytical"] or (), columns["numerical"], columns["status"], strict=False)
    off = [abs(one - other) for one, other, code in pairs if code == differs and one is not None and other is not None]
    worst = answer["verdict"]["worst"]
    off += [worst["off"]] if worst and worst["off"] is not None else []
    return off[-1] if len(off) > _FEW and max(off) - min(off) <= _SAME * max(off) else None


def kink_table(answer: SectionDocument) -> TextTable | None:
    """The table of kinks and jumps of a document of curves; None where there is none."""
    curves = _CurveDocument.of_answer(answer)
    if not curves.marks:
        return None
    named = nouns(answer)
    sides = _sides_in_words(curves.marks, bool(named.scale))
    rows = [
        [
            number_within_span(mark["x"], curves.span),
            mark["kind"],
            *(_side_cells(mark, sides) if sides else ()),
            typeset_number(_finite(mark["analytical"])),
        ]
        for mark in curves.marks[:_MAX_ROWS]
    ]
    return TextTable([answer["wrt"], "", *sides, named.backward], rows, len(curves.marks) - len(rows))


_VALUES, _GRADIENTS = ("left of it", "right of it"), ("grad left", "grad right")


def _sides_in_words(marks: list[KinkRecord | JumpRecord], asked: bool) -> tuple[str, ...]:
    """What the columns beside marks hold; none where gradients are all there is, and nothing is ``asked`` of them."""
    if any(mark["kind"] == "jump" for mark in marks):
        return _VALUES
    return _GRADIENTS if asked else ()


def _side_cells(mark: KinkRecord | JumpRecord, sides: tuple[str, ...]) -> list[str]:
    if mark["kind"] == "jump" or mark["kind"] == "pole":
        return [typeset_number(_finite(value)) for value in (mark["below"], mark["above"])]
    gradients = [_side(_finite(gradient)) for gradient in (mark["left"], mark["right"])]
    return [f"grad {each}" for each in gradients] if sides == _VALUES else gradients


def _finite(value: float | None) -> float | None:
    """``value``, None where it is not finite."""
    return value if value is not None and isfinite(value) else None


def method_paragraph(answer: SectionDocument) -> str:
    """How the numbers of a document were computed, in one paragraph."""
    numerical, tolerance, device = answer["numerical"], answer["tolerance"], answer["device"]
    terms, second = nouns(answer), answer["order"] == 2
    ran = "backward and double backward" if second else "backward"
    sentences = [f"{ran} ran in {answer['dtype']} on {device['name']}."]
    if numerical:
        sentences.append(
            f"The numerical curve is {numerical['dtype']} on {numerical['device']}, by extrapolated differences "
            f"{f'of {terms.of} ' * second}with a first step of {typeset_number(numerical['step'], 2)}: "
            f"{typeset_number(numerical['forwards_per_point'], 2)} {'' if second else 'forward '}calls per point, "
            "each with its own error bound."
        )
    if tolerance:
        atol = f"{typeset_number(tolerance['atol'], 2)} + " if tolerance["atol"] > _NOTHING else ""
        allowed = f"{atol}{typeset_number(tolerance['rtol'], 2)} × |numerical| + 10 × the error bound"
        sentences.append(f"A difference counts only above {allowed}.")
    judged, total, asked = answer["verdict"]["judged"], len(answer["columns"]["x"]), answer["count"]
    added = f"; {total - asked} of them were added where a curve turns most, or jumps" if total > asked else ""
    sentences.append(f"{'All' if judged == total else f'{judged} of'} {total} points were checked{added}.")
    if answer["structure"] in _STRUCTURES:
        sentences.append(_STRUCTURES[answer["structure"]])
    return typeset_sentence(" ".join(sentences))


_CELLS = 20
_NOTHING = 1e-300  # a tolerance as small as the numbers that hardly any dtype has
_GAPS = {
    "nan": "not a number",
    "+inf": "+∞",
    "-inf": "−∞",
    "jump": "jumps",
    "kink": "two gradients",
    "cusp": "two gradients",
    "undecided": "uncertain",
}
_UNBOUNDED = "unbounded"
# By status; those of a kink and a jump depend on the row.
_STATUS_WORDS = {
    "agrees": "agree",
    "edge": "cannot be compared: an edge of the domain",
    "undecided": "undecided: within the error bound",
    "gap": "cannot be compared: a value is missing",
}


@dataclass(frozen=True)
class TextTable:
    """A head and rows of as many cells, all of them text; ``left`` is the number of rows that are left out."""

    head: list[str]
    rows: list[list[str]]
    left: int = 0


def data_table(answer: SectionDocument) -> TextTable:
    """The curves of ``answer``, a document, at evenly spaced points and at every kink, jump and pole."""
    xs, marks = answer["columns"]["x"], [mark["x"] for mark in answer["marks"]]
    start, span = answer["start"], answer["stop"] - answer["start"]
    wanted = [start + cell / _CELLS * span for cell in range(_CELLS + 1)] + marks
    rows = sorted({nearest_row(xs, x) for x in wanted}) if xs else []
    reader = _Reader.of_document(answer)
    compared = (
        ["analytical", "numerical", "agreement"] if answer["columns"]["analytical"] is not None else ["numerical"]
    )
    return TextTable([answer["wrt"], nouns(answer).of, *compared], [reader.cells(row) for row in rows])


_READ: Final = ("forward", "analytical", "numerical")  # columns


def reading_words(answer: SectionDocument) -> ReadingsRecord:
    """What the cursor says beside numbers: ``gaps`` by column, each a text with the rows where it stands for a number.

    ``they`` is how analytical and numerical compare by status, ``rows`` the same for those rows that say more.
    """
    reader, columns = _Reader.of_document(answer), answer["columns"]
    said = [reader.status_words.get(status, "") for status in answer["statuses"]]
    gaps = {name: list(reader.gap_words(name)) for name in _READ if columns[name]}
    rows = {str(row): reader.status(row) for row, code in enumerate(columns["status"]) if not said[code]}
    return {"gaps": gaps, "they": said, "rows": rows}


@dataclass(frozen=True)
class _Reader:
    answer: SectionDocument
    poles: set[int]
    status_words: dict[str, str]

    @classmethod
    def of_document(cls, answer: SectionDocument) -> _Reader:
        xs = answer["columns"]["x"]
        words = _STATUS_WORDS | {
            "differs": "differ" if answer["verdict"]["word"] in FAILING_WORDS else f"differ {DESIGNED}"
        }
        return cls(answer, {nearest_row(xs, mark["x"]) for mark in answer["marks"] if mark["kind"] == "pole"}, words)

    def cells(self, row: int) -> list[str]:
        answer, columns = self.answer, self.answer["columns"]
        step = (answer["stop"] - answer["start"]) / (answer["count"] - 1)
        cells = [number_on_grid(columns["x"][row], step), self._value("forward", row)]
        if columns["analytical"] is None:
            return [*cells, self._measured(row)]
        return [*cells, self._value("analytical", row), self._measured(row), self.status(row)]

    def gap_words(self, column: str) -> Iterator[tuple[str, list[int]]]:
        """The words for what is no number in a column, each with its rows."""
        for reason, rows in self.answer["gaps"].get(column, {}).items():
            if reason in ("kink", "cusp"):
                yield from ((self._gap(column, reason, row), [row]) for row in rows)
                continue
            poles = [row for row in rows if column == "forward" and row in self.poles]
            yield _GAPS[reason], [row for row in rows if row not in poles]
            if poles:
                yield _UNBOUNDED, poles

    def _gap(self, column: str, reason: str, row: int) -> str:
        if column == "forward" and row in self.poles:
            return _UNBOUNDED
        if column == "numerical" and _GAPS[reason] == _GAPS["kink"]:
            left, right = (_side(self.answer["columns"][side][row]) for side in ("left", "right"))
            return left if left == right else f"{left} left, {right} right"
        return _GAPS[reason]

    def _value(self, column: Literal["forward", "analytical", "numerical"], row: int) -> str:
        values = self.answer["columns"][column]
        if values is not None and values[row] is not None:
            return typeset_number(values[row])
        reasons = self.answer["gaps"].get(column, {})
        return next((self._gap(column, reason, row) for reason, rows in reasons.items() if row in rows), "–")

    def _measured(self, row: int) -> str:
        """The numerical gradient with its bound; on a kink those of the two sides."""
        columns, text = self.answer["columns"], self._value("numerical", row)
        error = columns["error"][row]
        bounded = columns["numerical"][row] is not None and error is not None and error >= sys.float_info.min
        return f"{text} ± {typeset_number(error, 2)}" if bounded else text

    def status(self, row: int) -> str:
        """How analytical and numerical compare in a row."""
        answer, columns = self.answer, self.answer["columns"]
        status = answer["statuses"][columns["status"][row]]
        if status == "jump":
            grows = "grows without bound" if row in self.poles else "jumps"
            return f"cannot be compared: {nouns(answer).forward} {grows}"
        if status == "subgradient":
            left, right = columns["left"][row], columns["right"][row]
            if left == right == 0:  # as every gradient is for a grad_output of 0
                return self.status_words["agrees"]
            between = "between the two sides"
            if left is not None and right is not None:
                between = f"from {typeset_number(min(left, right))} to {typeset_number(max(left, right))}"
            return f"agree: at a kink any gradient {between} is right"
        return self.status_words[status]


def _side(gradient: float | None) -> str:
    return _UNBOUNDED if gradient is None else typeset_number(gradient)


_FAR = 3  # ranges away; beyond, the new range no longer includes the present one


def range_out_of_view(answer: SectionDocument) -> tuple[float, float] | None:
    """A range that shows the nearest difference outside the one drawn.

    None where there is none, or none within the numbers that an address allows.
    """
    if answer["verdict"]["word"] != "matches here":
        return None
    start, stop = answer["start"], answer["stop"]
    found = _ends(answer["wide"]["intervals"] if answer["wide"] else (), start, stop)
    ends = [each for each in found if abs(each[1]) < LARGEST]
    if not ends:
        return None
    away, at, right = min(ends)
    more = max((stop - start) / 2, abs(at) / 2)
    far = away > _FAR * (stop - start)
    low, high = (at - more if far else start, at + more) if right else (at - more, at + more if far else stop)
    low, high = max(low, -LARGEST), min(high, LARGEST)
    return _tidy(low, high - low), _tidy(high, high - low)


def _ends(intervals: Iterable[Ends], start: float, stop: float) -> Iterator[tuple[float, float, bool]]:
    """The nearer end of every interval outside the range: its distance, its x, and whether it lies to the right."""
    for low, high in intervals:
        if high is None or high > stop:
            at = stop if low is None else max(low, stop)
            yield at - stop, at, True
        if low is None or low < start:
            at = start if high is None else min(high, start)
            yield start - at, at, False


def _tidy(value: float, span: float) -> float:
    """``value`` rounded where a thousandth of ``span`` can no longer be seen."""
    unit = 10.0 ** math.floor(math.log10(span / 500))
    return float(f"{math.floor(value / unit + 0.5) * unit:.12g}")
