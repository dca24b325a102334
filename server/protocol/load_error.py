"""The ``trouble`` of a load as plain data: what went wrong, and where in the visitor's file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_AROUND = 3  # lines before and after the one that is meant

Excerpt = list[list[Any]]


def trouble(
    sentence: str,
    kind: str = "",
    file: str = "",
    line: int | None = None,
    excerpt: Excerpt | None = None,
    traceback: str = "",
) -> dict[str, Any]:
    """What a page, a report and the terminal show alike; ``excerpt`` has lines with their numbers."""
    return {
        "sentence": sentence,
        "kind": kind,
        "file": file,
        "line": line,
        "excerpt": excerpt or [],
        "traceback": traceback,
    }


def around(lines: Iterable[tuple[int, str]], line: int) -> Excerpt:
    """Those of the numbered lines that are near this one."""
    return [[number, text] for number, text in lines if abs(number - line) <= _AROUND]
