"""An answer as JSON: one list for each column, null where there is no finite number."""

from __future__ import annotations

import orjson

from ..protocol.answer import Answer
from .columns import document_columns


def json_document(answer: Answer, address: str) -> bytes:
    """The JSON text of an answer; ``address`` is its canonical address."""
    # orjson writes null for what is no finite number, in half the time of the next best.
    return orjson.dumps({"address": address, **answer.header, "columns": document_columns(answer)})
