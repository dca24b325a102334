"""The columns of an answer: their names and order by view, for JSON and CSV, and those of views whose rows are text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import NoneType
from typing import Any, get_args

from typing_extensions import get_type_hints

from ..protocol.answer import Answer
from ..protocol.views import VIEWS, WRITTEN_VIEWS, AnswerRecord
from ..schema.node import NodeRecord, OpenedRecord, ThingRecord

_Row = Mapping[str, object]
_HINTS = {name: get_type_hints(view.columns) for name, view in VIEWS.items()}
# The columns of each view's document, in the order of its CSV; some views have further ones.
DOCUMENT_COLUMNS = {view: tuple(columns) for view, columns in _HINTS.items()}
TEXT_COLUMNS = {view: DOCUMENT_COLUMNS[view] for view in WRITTEN_VIEWS}
# null where backward returned nothing, or there is no surrogate.
_OPTIONAL = {
    view: [name for name, column in columns.items() if NoneType in get_args(column)] for view, columns in _HINTS.items()
}


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


def _row(function: OpenedRecord, part: str, name: str, thing: ThingRecord | None) -> Iterator[_Row]:
    if thing is not None:
        shape = "" if thing["shape"] is None else "x".join(map(str, thing["shape"]))
        yield {
            **{"function": function["name"], "part": part, "name": name, "kind": thing["kind"], "shape": shape},
            **{"dtype": thing["dtype"], "bytes": thing["size"], "value": thing["text"]},
        }


def document_columns(answer: Answer) -> dict[str, list[Any] | None]:
    """Every column of the document by name, as a list; None for a missing one, NaN and infinities as they are."""
    view = answer.header["view"]
    columns: dict[str, list[Any] | None] = {name: [] for name in DOCUMENT_COLUMNS[view]} | dict.fromkeys(
        _OPTIONAL[view]
    )
    return columns | text_columns(answer.header) | {name: column.tolist() for name, column in answer.columns.items()}
