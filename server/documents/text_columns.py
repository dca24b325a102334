"""Columns of the views ``contract`` and ``node``, whose rows are text: taken from the lists in the answer's header."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_Row = dict[str, Any]

_CHECK_COLUMNS = ("id", "family", "level", "title", "seen", "torch", "advice", "line", "document", "element")
_NODE_COLUMNS = ("function", "part", "name", "kind", "shape", "dtype", "bytes", "value")
# The names of the columns by view.
TEXT_COLUMNS: dict[str, tuple[str, ...]] = {"contract": _CHECK_COLUMNS, "node": _NODE_COLUMNS}


def text_columns(header: dict[str, Any]) -> dict[str, list[Any]]:
    """The columns by name of a view whose rows are text; empty for another view."""
    names = TEXT_COLUMNS.get(header["view"], ())
    rows = list(_things(header) if header["view"] == "node" else header.get("checks", ())) if names else []
    return {name: [row[name] for row in rows] for name in names}


def _things(header: dict[str, Any]) -> Iterator[_Row]:
    """One row for each argument, output, saved tensor and ctx attribute of the Functions, and for their gradients."""
    for function in header["functions"]:
        for one in function["arguments"]:
            yield from _row(function, "argument", one["name"], one["thing"])
            yield from _row(function, "returned", one["name"], one["returned"])
            yield from _row(function, "delivered", one["name"], one["delivered"])
        for one in function["outputs"]:
            yield from _row(function, "output", one["name"], one["thing"])
            yield from _row(function, "grad_output", one["name"], one["arrived"])
        for part in ("saved", "attributes"):
            for one in function[part]:
                yield from _row(function, part.removesuffix("s"), one["name"], one["thing"])


def _row(function: _Row, part: str, name: str, thing: _Row | None) -> Iterator[_Row]:
    if thing is not None:
        shape = "" if thing["shape"] is None else "x".join(map(str, thing["shape"]))
        yield {
            **{"function": function["name"], "part": part, "name": name, "kind": thing["kind"], "shape": shape},
            **{"dtype": thing["dtype"], "bytes": thing["size"], "value": thing["text"]},
        }
