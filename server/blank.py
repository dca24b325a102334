"""The part of a header that is measured, where nothing could be."""

from __future__ import annotations

from typing import Any


def blank(sentence: str, failure: dict[str, Any]) -> dict[str, Any]:
    """No curves and no marks, but the verdict ``failed`` with its sentence, and the failure that led to it."""
    return {
        "numerical": None,
        "tolerance": None,
        "structure": None,
        "verdict": {
            "word": "failed",
            "sentence": sentence,
            "intervals": [],
            "worst": None,
            "judged": 0,
            "undecided": 0,
        },
        "statuses": [],
        "gaps": {},
        "marks": [],
        "failure": failure,
    }
