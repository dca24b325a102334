"""An answer as CSV: a header line, then one row for each point."""

from collections.abc import Iterable, Mapping
from itertools import product, repeat
from typing import Any, cast

from ..protocol.answer import Answer
from ..protocol.question import element_names
from ..protocol.views import VIEWS
from ..schema.views import Sent
from .columns import text_columns

_Columns = Mapping[str, Any]


def csv_table(answer: Answer) -> bytes:
    """The lines of an answer. A cell is empty where there is no number, infinities are ``inf`` and ``-inf``.

    A Function that failed has a last line after ``#`` that says why.
    """
    header, view = answer.header, VIEWS[answer.header["view"]]
    columns: _Columns = answer.columns or text_columns(header)
    if view.axes and columns:
        columns = _long(columns, *view.axes)
    if header["view"] == "jacobian" and header["rows"] and header["across"]:
        columns = _by_name(columns, header["rows"], header["across"])
    names = tuple(dict.fromkeys((*view.columns, *columns)))
    size = len(next(iter(columns.values()), ()))
    statuses = cast("dict[str, list[str]]", header).get("statuses", [])
    cells = [_cells(columns[name], name, statuses) if name in columns else repeat("", size) for name in names]
    text = "".join(",".join(line) + "\r\n" for line in (names, *zip(*cells, strict=True)))
    failure = answer.header["failure"]
    if failure is not None:
        text += f"# {failure['phase']} failed, {failure['kind']}: {' '.join(failure['message'].split())}\r\n"
    return text.encode("utf-8", "replace")


def _long(columns: _Columns, across: str, up: str) -> _Columns:
    """A two-dimensional grid in long format: one row for each point, with its coordinates on both axes."""
    pairs = list(product(columns[up], columns[across]))
    return {**columns, across: [x for _, x in pairs], up: [y for y, _ in pairs]}


def _by_name(columns: _Columns, rows: Sent, across: Sent) -> _Columns:
    """The columns of a Jacobian with the names of elements in place of flat indices."""
    sides = {"row": rows, "column": across}
    return {**columns} | {
        name: element_names(each["name"], each["shape"], columns[name]) for name, each in sides.items()
    }


def _cells(column: Iterable[Any], name: str, statuses: list[str]) -> Iterable[str]:
    return (statuses[code] for code in column) if name.startswith("status") else map(_cell, column)


def _cell(value: float | str | None) -> str:
    if isinstance(value, str):
        return f'"{value.replace(chr(34), 2 * chr(34))}"' if set(value) & set(',"\r\n') else value
    return repr(value) if value is not None and value == value else ""
