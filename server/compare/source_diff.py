"""A side-by-side diff of two sources, with docstrings folded to their first lines."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import zip_longest

from markupsafe import Markup

from ..html.op_markup import highlighted_lines
from ..protocol.load_error import source_lines

_DOCUMENTED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class _FoldedDocstring:
    """A folded docstring: its ``first`` line as shown, and the numbers of the lines that are hidden."""

    first: str
    rest: range


@lru_cache(maxsize=256)
def folded_docstrings(source: str) -> dict[int, _FoldedDocstring]:
    """The docstrings of classes and functions by their first line, counted from 1; none if it is no Python."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return {}
    lines, found = source_lines(source), {}
    for node in ast.walk(tree):
        if not isinstance(node, _DOCUMENTED) or not (text := ast.get_docstring(node)):
            continue
        start, stop = node.body[0].lineno, node.body[0].end_lineno or node.body[0].lineno
        indent = lines[start - 1][: node.body[0].col_offset]
        if indent.strip() or any(each.lineno == stop for each in node.body[1:]):
            continue  # the line holds other code
        first = lines[start - 1] if start == stop else f'{indent}"""{source_lines(text)[0]} …"""'
        found[start] = _FoldedDocstring(first, range(start + 1, stop + 1))
    return found


_Rows = list[tuple[int | None, int | None, bool]]


def aligned_lines(left: str, right: str) -> _Rows:
    """The rows of the diff: the line of each source, counted from 1, or None, and whether the two are equal.

    A docstring takes one row, and is equal to any other docstring.
    """
    return list(_rows(_unfolded(left), _unfolded(right)))


def source_listings(left: str, right: str, first: tuple[int, int]) -> tuple[Markup, Markup]:
    """Both sources in as many rows, with the classes ``differing`` and ``absent``; ids are ``left-L1`` and on.

    The visible line numbers count from ``first``, the first line of each source in its file.
    """
    found = aligned_lines(left, right)
    return (
        _listing(left, [(line, same) for line, _, same in found], "left", first[0]),
        _listing(right, [(line, same) for _, line, same in found], "right", first[1]),
    )


def _listing(source: str, found: list[tuple[int | None, bool]], side: str, first: int) -> Markup:
    lines, folded = highlighted_lines(source), folded_docstrings(source)
    plain = {i for i, line in enumerate(source_lines(source), 1) if not line.strip()}
    spans = []
    for number, same in found:
        if number is None:
            spans.append('<span class="absent">\n</span>')
            continue
        kind, text = ("", lines[number - 1])
        if number in folded:
            kind, text = " docstring", highlighted_lines(folded[number].first)[0]
        elif not same and number not in plain:
            kind = " differing"
        spans.append(f'<span class="line{kind}" id="{side}-L{number}" data-line="{number + first - 1}">{text}\n</span>')
    text = "".join(spans)
    return Markup(f'<pre class="source"><code>{text}</code></pre>')  # noqa: S704 - pygments has escaped it


def _unfolded(source: str) -> dict[int, str]:
    """The text that is compared for each line that is shown, by its number."""
    folded = folded_docstrings(source)
    hidden = {line for each in folded.values() for line in each.rest}
    lines = enumerate(source_lines(source), 1)
    return {i: '"""' if i in folded else line for i, line in lines if i not in hidden}


def _rows(left: dict[int, str], right: dict[int, str]) -> Iterator[tuple[int | None, int | None, bool]]:
    ones, others = list(left), list(right)
    matched = SequenceMatcher(None, list(left.values()), list(right.values()), autojunk=False)
    for kind, low, high, start, stop in matched.get_opcodes():
        for one, other in zip_longest(ones[low:high], others[start:stop]):
            yield one, other, kind == "equal"
