"""An answer as JSON: exact, or as a page carries it, rounded to the digits that can be seen."""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

import orjson
from markupsafe import Markup

from ..protocol.answer import Answer, CurvesAnswer
from ..schema.page import CompactRecord, FoundRecord
from ..schema.section import ColumnsRecord, JumpRecord, KinkRecord, SectionDocument, SectionRecord
from .columns import document_columns, finite_numbers

_DIGITS = 8  # significant digits of a value, beyond the leading ones that its column shares
_FEW = 3  # of an error bound
_MOST = 17
_KEPT = [name for name in CompactRecord.__annotations__ if name in SectionRecord.__annotations__]
_FINEST = 1e-9  # resolution of x, relative to the range


def script_json(document: Mapping[str, object]) -> Markup:
    """The JSON text of a document, escaped for a script element: it can neither end it nor open a comment."""
    return Markup(orjson.dumps(document).decode().replace("<", "\\u003c"))  # noqa: S704


def exact_document(answer: CurvesAnswer, address: str) -> SectionDocument:
    """Everything in an answer; None for a missing column, and in place of numbers that are not finite."""
    columns = {name: column and finite_numbers(column) for name, column in document_columns(answer).items()}
    return {"address": address, **answer.header, "columns": cast(ColumnsRecord, columns)}


def compact_document(answer: CurvesAnswer, address: str) -> CompactRecord:
    """The answer with rounded columns, to be dumped by orjson; the x of a mark is rounded as that of its row."""
    header, columns = cast(dict[str, Any], answer.header), document_columns(answer)
    exact = columns["x"] or []
    x = _apart(exact, _decimals(header["stop"] - header["start"]))
    seen = dict(zip(exact, x, strict=True))
    written = {name: _rounded(name, column) for name, column in columns.items()} | {"x": x}
    document = {name: header[name] for name in _KEPT} | {"address": address, "columns": written}
    document["verdict"] = {name: header["verdict"][name] for name in FoundRecord.__annotations__}
    document["marks"] = [_moved(mark, seen) for mark in header["marks"]]
    return cast(CompactRecord, document)


def _moved(mark: KinkRecord | JumpRecord, seen: Mapping[float, float]) -> KinkRecord | JumpRecord:
    mark = mark.copy()
    mark["x"] = seen[mark["x"]]
    return mark


def _rounded(name: str, column: list[float] | None) -> Any:
    """The column as JSON. A single call of printf for all of its numbers takes half the time of one for each."""
    if not column or name == "status":
        return column
    digits = _FEW if name == "error" else min(_MOST, _DIGITS + _common(column))
    text = ",".join([f"%.{digits}g"] * len(column)) % tuple(column)
    if not math.isfinite(sum(column)):
        text = text.replace("nan", "null").replace("-inf", "null").replace("inf", "null")
    return orjson.Fragment(f"[{text}]")


def _apart(xs: list[float], places: int) -> list[float]:
    """``xs`` rounded, except where rounding would make two of them equal, as on the sides of a jump."""
    rounded = [round(x, places) for x in xs]
    if len(set(rounded)) == len(rounded):
        return rounded
    times = Counter(rounded)
    return [x if times[near] > 1 else near for x, near in zip(xs, rounded, strict=True)]


def _decimals(span: float) -> int:
    """The number of decimals that resolves ``_FINEST`` of the range."""
    return math.ceil(-math.log10(max(span * _FINEST, math.ulp(0.0))))


def _common(values: list[float]) -> int:
    """How many leading digits all of ``values`` have in common."""
    finite = values if math.isfinite(sum(values)) else [value for value in values if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    span = high / 2 - low / 2
    return max(0, math.ceil(math.log10(max(abs(low), abs(high)) / span))) if span > 0 else 0


def json_document(answer: Answer, address: str) -> bytes:
    """The JSON text of an answer; ``address`` is its canonical address."""
    # orjson writes null for what is no finite number, in half the time of the next best.
    return orjson.dumps({"address": address, **answer.header, "columns": document_columns(answer)})
