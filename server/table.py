"""An answer as CSV: a line of names, then one row for each point."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product, repeat
from typing import Any

from .document import COLUMNS
from .frames import Frame

Columns = Mapping[str, Any]


def table(answer: Frame) -> bytes:
    """The lines of an answer. A cell is empty where there is no number, infinities are ``inf`` and ``-inf``.

    A Function that failed has a last line after ``#`` that says why.
    """
    view, statuses = answer.header["view"], answer.header.get("statuses", ())
    columns = _long(answer.columns) if view == "map" and answer.columns else answer.columns
    names = tuple(dict.fromkeys((*COLUMNS[view], *columns)))
    size = len(next(iter(columns.values()), ()))
    cells = [_cells(columns[name], name, statuses) if name in columns else repeat("", size) for name in names]
    text = "".join(",".join(line) + "\r\n" for line in (names, *zip(*cells, strict=True)))
    failure = answer.header["failure"]
    if failure is not None:
        text += f"# {failure['phase']} failed, {failure['kind']}: {' '.join(failure['message'].split())}\r\n"
    return text.encode("utf-8", "replace")


def _long(columns: Columns) -> Columns:
    """A map as one row a point, each with its own ``x`` and ``grad_output``."""
    pairs = list(product(columns["grad_output"], columns["x"]))
    return {"x": [x for _, x in pairs], "grad_output": [g for g, _ in pairs], "ratio": columns["ratio"]}


def _cells(column: Iterable[Any], name: str, statuses: list[str]) -> Iterable[str]:
    return (statuses[code] for code in column) if name == "status" else map(_cell, column)


def _cell(value: float) -> str:
    return repr(value) if value == value else ""
