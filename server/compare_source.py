"""Two sources beside each other, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import zip_longest

from markupsafe import Markup

from .highlight import painted

Rows = list[tuple[int | None, int | None, bool]]


def rows(left: str, right: str) -> Rows:
    """Of every row the lines that stand in it, counted from 1, and whether they are the same; None is no line."""
    return list(_rows(left.splitlines(), right.splitlines()))


def listings(left: str, right: str) -> tuple[Markup, Markup]:
    """Both sources in as many rows, with the classes ``differing`` and ``absent``; ids are ``left-L1`` and on."""
    found = rows(left, right)
    return (
        _listing(painted(left), [(line, same) for line, _, same in found], "left"),
        _listing(painted(right), [(line, same) for _, line, same in found], "right"),
    )


def _listing(lines: tuple[str, ...], found: list[tuple[int | None, bool]], side: str) -> Markup:
    spans = []
    for number, same in found:
        if number is None:
            spans.append('<span class="absent">\n</span>')
        else:
            name = "line" if same else "line differing"
            spans.append(f'<span class="{name}" id="{side}-L{number}">{lines[number - 1]}\n</span>')
    text = "".join(spans)
    return Markup(f'<pre class="source" tabindex="0"><code>{text}</code></pre>')  # noqa: S704 - pygments has escaped it


def _rows(left: list[str], right: list[str]) -> Iterator[tuple[int | None, int | None, bool]]:
    for kind, low, high, start, stop in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for one, other in zip_longest(range(low + 1, high + 1), range(start + 1, stop + 1)):
            yield one, other, kind == "equal"
