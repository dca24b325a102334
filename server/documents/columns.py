"""The columns of an answer: their names and order by view, for JSON and CSV, and those of views whose rows are text."""

import math
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ..protocol.answer import Answer
from ..protocol.views import VIEWS, AnswerRecord
from ..schema.views import NodeRecord, Sent

_Row = Mapping[str, object]
TEXT_COLUMNS = {name: view.columns for name, view in VIEWS.items() if not view.title}


def text_columns(header: AnswerRecord) -> dict[str, list[Any]]:
    """The columns by name of a view whose rows are text; empty for another view."""
    rows: list[_Row] = []
    if header["view"] == "node":
        rows = list(_things(header))
    elif header["view"] == "contract":
        rows = list(header["checks"])
    elif header["view"] == "proof":
        rows = list(header["stretches"])
    return {name: [row[name] for row in rows] for name in TEXT_COLUMNS.get(header["view"], ())}


def _things(header: NodeRecord) -> Iterator[_Row]:
    """One row for each argument, output, saved tensor and ctx attribute of the Functions, and for their gradients."""
    for function in header["functions"]:
        for argument in function["arguments"]:
            yield from _row(function, "argument", argument["name"], argument["thing"])
            yield from _row(function, "returned", argument["name"], argument["returned"])
            yield from _row(function, "delivered", argument["name"], argument["delivered"])
        for output in function["outputs"]:
            yield from _row(function, "output", output["name"], output["thing"])
            yield from _row(function, "grad_output", output["name"], output["arrived"])
        for saved in function["saved"]:
            yield from _row(function, "saved", saved["name"], saved["thing"])
        for attribute in function["attributes"]:
            yield from _row(function, "attribute", attribute["name"], attribute["thing"])


def _row(function: Sent, part: str, name: str, thing: Sent | None) -> Iterator[_Row]:
    if thing is not None:
        shape = "" if thing["shape"] is None else "x".join(map(str, thing["shape"]))
        yield {
            **{"function": function["name"], "part": part, "name": name, "kind": thing["kind"], "shape": shape},
            **{"dtype": thing["dtype"], "bytes": thing["size"], "value": thing["text"]},
        }


def document_columns(answer: Answer) -> dict[str, list[Any] | None]:
    """Every column of the document by name, as a list; None for a missing one, NaN and infinities as they are."""
    view = VIEWS[answer.header["view"]]
    columns: dict[str, list[Any] | None] = {name: None if name in view.optional else [] for name in view.columns}
    return columns | text_columns(answer.header) | {name: column.tolist() for name, column in answer.columns.items()}


def finite_numbers(values: Sequence[float]) -> list[float | None]:
    """The numbers, None in the place of those that are not finite."""
    return [*values] if math.isfinite(sum(values)) else [value if math.isfinite(value) else None for value in values]


def nearest_row(xs: list[float], value: float) -> int:
    """The row whose x is closest to ``value``, by bisection; x is increasing."""
    high = min(max(bisect_right(xs, value), 1), len(xs) - 1)
    low = max(0, high - 1)
    return low if value - xs[low] <= xs[high] - value else high


def rows_beside(xs: list[float], places: Iterable[float]) -> set[int]:
    """The rows closest to these x, and their neighbours."""
    rows = {nearest_row(xs, x) + step for x in places for step in (-1, 0, 1)}
    return {row for row in rows if 0 <= row < len(xs)}


def with_gaps(column: Sequence[float | None], rows: Collection[int]) -> list[float | None]:
    """``column`` with a gap in each of these rows."""
    return [None if row in rows else value for row, value in enumerate(column)] if rows else [*column]


_REACH = 2  # points on either side of an extreme one
_SMOOTH = 0.02  # of what a parabola rises by, as far as the outer of these points may lie off it


def extreme_values(x: Sequence[float], column: Sequence[float | None]) -> tuple[float, float] | None:
    """The extremes of the curve through a ``column``, one value for each ``x``; None where it has no value."""
    values = {row: value for row, value in enumerate(column) if value is not None}
    if not values:
        return None
    low, high = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
    return _turning_value(x, column, low), _turning_value(x, column, high)


def _turning_value(x: Sequence[float], column: Sequence[float | None], row: int) -> float:
    """The value at the vertex of the parabola through the point of a row and its neighbours.

    It is rounded to what it adds to the value at the row, which it is where the curve is no parabola there.
    """
    rows = range(row - _REACH, row + _REACH + 1)
    middle = column[row] or 0.0
    around = [(x[each] - x[row], column[each]) for each in rows if 0 <= each < len(x)]
    known = [(t, value - middle) for t, value in around if value is not None]
    if len(known) < len(rows) or any(one >= other for (one, _), (other, _) in pairwise(known)):
        return middle
    _, (left, below), _, (right, above), _ = known
    bend = (above / right - below / left) / (right - left)
    slope = above / right - bend * right
    smooth = all(abs(slope * t + bend * t * t - value) <= _SMOOTH * abs(bend) * t * t for t, value in known)
    beyond = slope * slope / (4 * bend) if bend and smooth else 0.0
    turns = 0 < abs(beyond) < math.inf
    return round(middle - beyond, -math.floor(math.log10(abs(beyond)))) if turns else middle
