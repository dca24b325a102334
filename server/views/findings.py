"""The laws of linearity that a backward breaks, as plain data."""

from __future__ import annotations

from typing import Any

from ..numerics.linearity.laws import Linearity, sentence
from .columns import finite


def findings(linearity: Linearity, wrt: str) -> list[dict[str, Any]]:
    """Each law that is broken: where, by what was returned, and in words."""
    return [
        {
            "law": each.law,
            "x": finite(each.x),
            "grad_output": finite(each.grad_output),
            "returned": finite(each.returned),
            "expected": finite(each.expected),
            "sentence": sentence(each, wrt),
        }
        for each in linearity.findings
    ]
