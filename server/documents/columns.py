"""The columns of an answer: their names and order by view, for JSON and CSV, and those of views whose rows are text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..protocol.frames import Frame

_Row = dict[str, Any]
_CHECK_COLUMNS = (
    *("id", "family", "level", "title", "seen", "torch", "advice", "line", "document", "element", "recipe"),
)
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


# The columns of each view's document, in the order of its CSV. `precision` has further ones, named after dtypes.
DOCUMENT_COLUMNS = {
    "curves": (
        *("x", "forward", "analytical", "numerical", "error", "left", "right"),
        *("surrogate", "surrogate_numerical", "implied", "status"),
    ),
    "area": ("left", "right", "rise", "area", "residual", "allowed", "status"),
    "map": ("x", "grad_output", "ratio"),
    "precision": ("x",),
    "wide": ("x", "forward", "analytical", "numerical", "error", "status"),
    "step": ("step", "central", "left", "right", "truncation", "rounding", "taylor"),
    "jacobian": ("row", "column", "numerical", "returned", "difference", "error", "left", "right", "status"),
    "surface": (
        *("x", "y", "forward", "analytical_x", "numerical_x", "allowed_x", "status_x"),
        *("analytical_y", "numerical_y", "allowed_y", "status_y", "implied"),
    ),
    "descent": ("step", "loss", "true_loss"),
    **TEXT_COLUMNS,
}
# null where backward returned nothing, or there is no surrogate.
_OPTIONAL = {
    "curves": ("analytical", "surrogate", "surrogate_numerical", "implied"),
    "jacobian": ("returned", "difference"),
    "surface": ("analytical_x", "analytical_y", "implied"),
}


def document_columns(answer: Frame) -> dict[str, Any]:
    """Every column of the document by name, as a list; None for a missing one, NaN and infinities as they are."""
    view = answer.header["view"]
    columns: dict[str, Any] = {name: [] for name in DOCUMENT_COLUMNS[view]} | dict.fromkeys(_OPTIONAL.get(view, ()))
    return columns | text_columns(answer.header) | {name: column.tolist() for name, column in answer.columns.items()}
