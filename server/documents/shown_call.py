"""The call that a page shows: the recipe of the op, with the values that its parameters have there."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..schema.op import OpDescription

# Everything up to a semicolon or newline outside of string literals.
RECIPE_PIECES = re.compile(r"""(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^;\n])+""")
_VALUE = re.compile(r"(\w+)\s*=(?!=)")
_MOST_RENAMED = 3  # underscores behind an argument's name that an address has for something else


@dataclass(frozen=True)
class ShownArgument:
    """One argument of the call: its ``text`` now, and as ``recipe`` has it; ``parameter`` and ``kind`` if it is one."""

    text: str
    recipe: str
    name: str = ""
    parameter: str = ""
    kind: str = ""


def shown_call(op: OpDescription, values: Mapping[str, str], usual: Mapping[str, str]) -> list[ShownArgument]:
    """The arguments of the recipe; ``values`` and ``usual`` are those of the parameters, as in a query."""
    return list(_arguments(op, values, usual))


def _arguments(op: OpDescription, values: Mapping[str, str], usual: Mapping[str, str]) -> Iterator[ShownArgument]:
    free = {each["name"]: each["kind"] for each in op["parameters"]}
    for piece in map(str.strip, RECIPE_PIECES.findall(op["recipe"])):
        found = _VALUE.match(piece)
        names = [found[1] + "_" * more for more in range(1 + _MOST_RENAMED)] if found else []
        own = next((each for each in names if each in free), "")
        if not found or not own:
            yield ShownArgument(piece, piece)
            continue
        kind, same = free.pop(own), values[own] == usual[own]
        text = piece if same else f"{found[1]} = {_literal(kind, values[own])}"
        yield ShownArgument(text, piece, found[1], own, kind)


def _literal(kind: str, text: str) -> str:
    """A value of a query as a recipe writes it; as ``literal`` in ``static/js/own/shown_call.js``."""
    if kind == "float":
        return text if re.search(r"[.e]", text) else f"{text}.0"
    return {"switch": text.capitalize(), "choice": repr(text)}.get(kind, text)
