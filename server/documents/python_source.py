"""Python source as a formatter would leave it: strings, and calls on one line or on several."""

from __future__ import annotations

from collections.abc import Sequence

MAX_COLUMNS = 88  # those of a formatter that nobody has told another number


def string_source(text: str) -> str:
    """The source of a string, in double quotes where it contains none."""
    plain = repr(text)
    return f'"{plain[1:-1]}"' if plain[0] == "'" and '"' not in text else plain


def call_source(name: str, arguments: Sequence[str], indent: int, more: int = 1) -> str:
    """The source of a call behind ``indent`` columns: on one line if that leaves room for ``more``, else on several."""
    line = f"{name}({', '.join(arguments)})"
    if indent + len(line) + more <= MAX_COLUMNS and "\n" not in line:
        return line
    space = " " * indent
    return f"{name}(\n" + "".join(f"{space}    {each},\n" for each in arguments) + f"{space})"
