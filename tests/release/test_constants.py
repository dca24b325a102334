"""Every number that decides says of which kind it is: a bound, a count of roundings, a budget, a sample, a pattern."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.servers import HERE

# bound: on an error; ulps: a count of roundings; budget: how much is done; sample: where and how far apart questions
# are asked; pattern: how much of a shape is seen before it gets its name; unit: a fact that nobody chose.
KINDS = re.compile(r"#\s*(bound|ulps|budget|sample|pattern|unit):", re.IGNORECASE)
FOLDERS = ("numerics", "contract", "runtime")


def numeric_constants(text: str) -> Iterator[tuple[int, int]]:
    """The first and last line, from 1, of each assignment of numbers, and of nothing else, at the top of a module."""
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            values = [each.value for each in ast.walk(statement.value) if isinstance(each, ast.Constant)]
            numbers = [each for each in values if isinstance(each, int | float) and not isinstance(each, bool)]
            if numbers and not any(isinstance(each, str) for each in values):
                yield statement.lineno, statement.end_lineno or statement.lineno


def comment_of(lines: list[str], first: int, last: int) -> str:
    """The first line of the comment above an assignment, and those at its ends."""
    above = first - 1
    while above and lines[above - 1].startswith("#"):
        above -= 1
    return "\n".join((lines[above] if above < first - 1 else "", lines[first - 1], lines[last - 1]))


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_number_that_decides_says_of_which_kind_it_is(folder: str) -> None:
    silent = []
    for path in sorted(Path(HERE, "server", folder).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        silent += [
            f"{path.relative_to(HERE)}:{first}"
            for first, last in numeric_constants(text)
            if not KINDS.search(comment_of(lines, first, last))
        ]
    assert silent == []
