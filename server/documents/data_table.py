"""The figure as a table of text, for readers without the picture. Same words as js/figure/words.js."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .nouns import nouns
from .pole_rows import nearest_row
from .typography import number_on_grid, typeset_number

_CELLS = 20
_GAPS = {
    "nan": "not a number",
    "+inf": "+∞",
    "-inf": "−∞",
    "jump": "jumps",
    "kink": "two slopes",
    "cusp": "two slopes",
    "undecided": "uncertain",
}


@dataclass(frozen=True)
class DataTable:
    """A head and rows of as many cells, all of them text."""

    head: list[str]
    rows: list[list[str]]


def data_table(answer: dict[str, Any]) -> DataTable:
    """The curves of ``answer``, a document, at evenly spaced points and at every kink, jump and pole."""
    xs, marks = answer["columns"]["x"], [mark["x"] for mark in answer["marks"]]
    start, span = answer["start"], answer["stop"] - answer["start"]
    wanted = [start + cell / _CELLS * span for cell in range(_CELLS + 1)] + marks
    rows = sorted({nearest_row(xs, x) for x in wanted}) if xs else []
    poles = {nearest_row(xs, mark["x"]) for mark in answer["marks"] if mark["kind"] == "pole"}
    reader = _Reader(answer, poles)
    compared = ["analytical", "numerical", "they"] if answer["columns"]["analytical"] is not None else ["numerical"]
    return DataTable([answer["wrt"], nouns(answer).of, *compared], [reader.cells(row) for row in rows])


@dataclass(frozen=True)
class _Reader:
    answer: dict[str, Any]
    poles: set[int]

    def cells(self, row: int) -> list[str]:
        answer, columns = self.answer, self.answer["columns"]
        step = (answer["stop"] - answer["start"]) / (answer["count"] - 1)
        cells = [number_on_grid(columns["x"][row], step), self._value("forward", row)]
        if columns["analytical"] is None:
            return [*cells, self._measured(row)]
        return [*cells, self._value("analytical", row), self._measured(row), self._status(row)]

    def _value(self, column: str, row: int) -> str:
        value = self.answer["columns"][column][row]
        if value is not None:
            return typeset_number(value)
        if column == "forward" and row in self.poles:
            return "unbounded"
        reasons = self.answer["gaps"].get(column, {})
        return next((_GAPS[reason] for reason, rows in reasons.items() if row in rows), "–")

    def _measured(self, row: int) -> str:
        """The numerical gradient with its bound; on a kink the slopes of the two sides."""
        columns, text = self.answer["columns"], self._value("numerical", row)
        if text == _GAPS["kink"]:
            return f"{_side(columns['left'][row])} left, {_side(columns['right'][row])} right"
        error = columns["error"][row]
        return f"{text} ± {typeset_number(error, 2)}" if columns["numerical"][row] is not None and error else text

    def _status(self, row: int) -> str:
        answer, columns = self.answer, self.answer["columns"]
        forward = nouns(answer).forward
        sides = [columns[side][row] for side in ("left", "right")]
        between = "between the two sides"
        if None not in sides:
            between = f"from {typeset_number(min(sides))} to {typeset_number(max(sides))}"
        return {
            "agrees": "agree",
            "subgradient": f"agree: at a kink any slope {between} is right",
            "jump": f"cannot be compared: {forward} {'grows without bound' if row in self.poles else 'jumps'}",
            "edge": "cannot be compared: an edge of the domain",
            "undecided": "cannot be told apart within the error",
            "differs": "differ, by design" if answer["verdict"]["word"] == "matches its surrogate" else "differ",
            "gap": "cannot be compared: a value is missing",
        }[answer["statuses"][columns["status"][row]]]


def _side(slope: float | None) -> str:
    return "unbounded" if slope is None else typeset_number(slope)
