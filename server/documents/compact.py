"""An answer small enough to travel inside a page: the document with the digits that can be seen."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import orjson
from markupsafe import Markup

from ..protocol.frames import Frame
from .json_document import columns_of

DIGITS = 8  # of a value, beyond what its column has in common
_FEW = 3  # of an error bound
_MOST = 17
_FINEST = 1e-9  # of the range: how finely x is told


def script(document: dict[str, Any]) -> Markup:
    """The JSON text of a document, to be put between script tags, which it can neither end nor comment out."""
    return Markup(orjson.dumps(document).decode().replace("<", "\\u003c"))  # noqa: S704


def packed(answer: Frame, address: str) -> dict[str, Any]:
    """The document of ``answer`` with rounded columns; marks stand where the points beside them do."""
    header = answer.header
    places = _decimals(header["stop"] - header["start"])
    columns = columns_of(answer)
    x = _apart(columns["x"], places)
    seen = dict(zip(columns["x"], x, strict=True))
    columns = {name: _rounded(name, column) for name, column in columns.items()} | {"x": x}
    marks = [mark | {"x": seen[mark["x"]]} for mark in header.get("marks", ())]
    return {"address": address, **header, "marks": marks, "columns": columns}


def _rounded(name: str, column: list[Any] | None) -> list[Any] | None:
    if not column or name in ("x", "status"):
        return column
    digits = _FEW if name == "error" else min(_MOST, DIGITS + _common(column))
    form = f".{digits}g"
    return [float(format(value, form)) if math.isfinite(value) else None for value in column]


def _apart(xs: list[float], places: int) -> list[float]:
    """``xs`` rounded, but for those beside a jump: points that are closer than that stay apart."""
    rounded = [round(x, places) for x in xs]
    times = Counter(rounded)
    return [x if times[near] > 1 else near for x, near in zip(xs, rounded, strict=True)]


def _decimals(span: float) -> int:
    """After how many decimals ``x`` is told finely enough."""
    return math.ceil(-math.log10(max(span * _FINEST, math.ulp(0.0))))


def _common(values: Iterable[float]) -> int:
    """How many leading digits all of ``values`` have in common."""
    finite = [value for value in values if math.isfinite(value)]
    largest = max(map(abs, finite), default=0.0)
    span = max(finite, default=0.0) / 2 - min(finite, default=0.0) / 2
    return max(0, math.ceil(math.log10(largest / span))) if span > 0 else 0
