"""The lines of a source, numbered as Python numbers them."""

from __future__ import annotations

from io import StringIO


def source_lines(text: str) -> list[str]:
    """The lines of ``text`` without their ends; a form feed ends none, as it would for ``str.splitlines``."""
    return [line.removesuffix("\n") for line in StringIO(text, newline=None)]
