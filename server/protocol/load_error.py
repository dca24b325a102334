"""Load error as plain data: sentence, exception type, file, line, source excerpt and traceback."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_AROUND = 3  # lines of an excerpt before and after the culprit

Excerpt = list[list[Any]]


def load_error(
    sentence: str,
    kind: str = "",
    file: str = "",
    line: int | None = None,
    excerpt: Excerpt | None = None,
    traceback: str = "",
) -> dict[str, Any]:
    """A load error as pages, reports and terminal show it; ``excerpt`` is a list of [line number, text]."""
    return {
        "sentence": sentence,
        "kind": kind,
        "file": file,
        "line": line,
        "excerpt": excerpt or [],
        "traceback": traceback,
    }


def excerpt_around(lines: Iterable[tuple[int, str]], line: int) -> Excerpt:
    """The excerpt around a line."""
    return [[number, text] for number, text in lines if abs(number - line) <= _AROUND]
