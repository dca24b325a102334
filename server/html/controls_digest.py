"""A digest of what the controls of a page are generated from: it changes when they have to be generated again."""

from __future__ import annotations

import json
from typing import Any

from ..protocol.fingerprint import fingerprint

# Fields of an op that its controls do not depend on, and that may change with every save of its file.
_TOLD = {
    *("title", "doc", "source", "digest", "first_line", "line", "file", "reference", "check"),
    *("forward", "backward", "surrogate_formula", "block", "pytest", "assumed"),
}


def controls_digest(op: dict[str, Any]) -> str:
    """The digest of the arguments, inputs, parameters and outputs of an op."""
    return fingerprint(json.dumps({key: value for key, value in op.items() if key not in _TOLD}, sort_keys=True))
