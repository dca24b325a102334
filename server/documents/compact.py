"""Compact JSON of an answer, to be embedded in a page: columns rounded to the digits that can be seen."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import orjson
from markupsafe import Markup

from ..protocol.frames import Frame
from .columns import document_columns

_DIGITS = 8  # significant digits of a value, beyond the leading ones that its column shares
_FEW = 3  # of an error bound
_MOST = 17
_FINEST = 1e-9  # resolution of x, relative to the range


def script_json(document: dict[str, Any]) -> Markup:
    """The JSON text of a document, escaped for a script element: it can neither end it nor open a comment."""
    return Markup(orjson.dumps(document).decode().replace("<", "\\u003c"))  # noqa: S704


def compact_document(answer: Frame, address: str) -> dict[str, Any]:
    """The document of ``answer`` with rounded columns; the x of a mark is rounded as that of its row."""
    header = answer.header
    places = _decimals(header["stop"] - header["start"])
    columns = document_columns(answer)
    x = _apart(columns["x"], places)
    seen = dict(zip(columns["x"], x, strict=True))
    columns = {name: _rounded(name, column) for name, column in columns.items()} | {"x": x}
    marks = [mark | {"x": seen[mark["x"]]} for mark in header.get("marks", ())]
    return {"address": address, **header, "marks": marks, "columns": columns}


def _rounded(name: str, column: list[Any] | None) -> list[Any] | None:
    if not column or name in ("x", "status"):
        return column
    digits = _FEW if name == "error" else min(_MOST, _DIGITS + _common(column))
    form = f".{digits}g"
    return [float(format(value, form)) if math.isfinite(value) else None for value in column]


def _apart(xs: list[float], places: int) -> list[float]:
    """``xs`` rounded, except where rounding would make two of them equal, as on the sides of a jump."""
    rounded = [round(x, places) for x in xs]
    times = Counter(rounded)
    return [x if times[near] > 1 else near for x, near in zip(xs, rounded, strict=True)]


def _decimals(span: float) -> int:
    """The number of decimals that resolves ``_FINEST`` of the range."""
    return math.ceil(-math.log10(max(span * _FINEST, math.ulp(0.0))))


def _common(values: Iterable[float]) -> int:
    """How many leading digits all of ``values`` have in common."""
    finite = [value for value in values if math.isfinite(value)]
    largest = max(map(abs, finite), default=0.0)
    span = max(finite, default=0.0) / 2 - min(finite, default=0.0) / 2
    return max(0, math.ceil(math.log10(largest / span))) if span > 0 else 0
