"""Where the docstrings of a source stand, and what is left of each where it is folded."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache

from ..protocol.source_lines import source_lines

DOCUMENTED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Docstring:
    """Its ``first`` line as it is shown, and the numbers of the lines that are not."""

    first: str
    rest: range


@lru_cache(maxsize=256)
def docstrings(source: str) -> dict[int, Docstring]:
    """Those of classes and functions by the lines on which they begin, counted from 1; none of what is no Python."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return {}
    lines, found = source_lines(source), {}
    for node in ast.walk(tree):
        if not isinstance(node, DOCUMENTED) or not (text := ast.get_docstring(node)):
            continue
        start, stop = node.body[0].lineno, node.body[0].end_lineno or node.body[0].lineno
        indent = lines[start - 1][: node.body[0].col_offset]
        if indent.strip() or any(each.lineno == stop for each in node.body[1:]):
            continue  # the line says more than that
        first = lines[start - 1] if start == stop else f'{indent}"""{source_lines(text)[0]} …"""'
        found[start] = Docstring(first, range(start + 1, stop + 1))
    return found
