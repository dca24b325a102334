"""What the controls of a page are made of, in few characters: as long as it stays, so do they."""

from __future__ import annotations

import json
from typing import Any

from ..protocol.fingerprint import fingerprint

# What is told of an op beside its controls, and may be another after every save.
_TOLD = {
    *("title", "doc", "source", "digest", "first_line", "line", "file", "reference", "check"),
    *("forward", "backward", "surrogate_formula", "block", "pytest", "assumed"),
}


def declaration(op: dict[str, Any]) -> str:
    """Text that is another as soon as the op is called otherwise, or has other inputs, parameters or outputs."""
    return fingerprint(json.dumps({key: value for key, value in op.items() if key not in _TOLD}, sort_keys=True))
