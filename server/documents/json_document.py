"""An answer as JSON: one list for each column, null where there is no finite number."""

from __future__ import annotations

from typing import Any

import orjson

from ..protocol.frames import Frame
from .text_columns import TEXT_COLUMNS, text_columns

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


def json_document(answer: Frame, address: str) -> bytes:
    """The JSON text of an answer; ``address`` is its canonical address."""
    # orjson writes null for what is no finite number, in half the time of the next best.
    return orjson.dumps({"address": address, **answer.header, "columns": document_columns(answer)})


def document_columns(answer: Frame) -> dict[str, Any]:
    """Every column of the document by name, as a list; None for a missing one, NaN and infinities as they are."""
    view = answer.header["view"]
    columns: dict[str, Any] = {name: [] for name in DOCUMENT_COLUMNS[view]} | dict.fromkeys(_OPTIONAL.get(view, ()))
    return columns | text_columns(answer.header) | {name: column.tolist() for name, column in answer.columns.items()}
