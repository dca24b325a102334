"""An answer as JSON: x once, one list a column, and null where there is no finite number."""

from __future__ import annotations

from typing import Any

import orjson

from .frames import Frame

MEASURED = ("x", "forward", "numerical", "error", "left", "right", "status")
OPTIONAL = ("analytical", "surrogate", "surrogate_numerical")  # null when backward returned nothing, or no surrogate


def document(answer: Frame, address: str) -> bytes:
    """The JSON text of an answer; ``address`` is the shortest one that asks for it."""
    columns: dict[str, Any] = {name: [] for name in MEASURED} | dict.fromkeys(OPTIONAL)
    columns |= {name: column.tolist() for name, column in answer.columns.items()}
    # orjson writes null for what is no finite number, in half the time of the next best.
    return orjson.dumps({"address": address, **answer.header, "columns": columns})
