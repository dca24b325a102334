"""A digest by which a page knows whether its form has the controls of an op."""

from __future__ import annotations

import json

from ..protocol.fingerprint import fingerprint
from ..schema.op import OpDescription

# Fields of an op that its controls do not depend on, and that may change with every save of its file.
_DESCRIPTIVE_FIELDS = {
    *("title", "doc", "source", "digest", "first_line", "line", "file", "reference", "check"),
    *("forward", "backward", "surrogate_formula", "like", "written", "bound", "import_line", "block", "assumed"),
}


def controls_digest(op: OpDescription) -> str:
    """The digest of the arguments, inputs, parameters and outputs of an op."""
    return fingerprint(
        json.dumps({key: value for key, value in op.items() if key not in _DESCRIPTIVE_FIELDS}, sort_keys=True)
    )
