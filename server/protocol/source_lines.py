"""The lines of a source text, split as Python splits them."""

from io import StringIO


def source_lines(text: str) -> list[str]:
    """The lines of ``text`` without their ends; a form feed ends none, unlike in ``str.splitlines``."""
    return [line.removesuffix("\n") for line in StringIO(text, newline=None)]
