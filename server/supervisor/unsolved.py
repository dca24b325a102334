"""What is said of a visitor's Function whose worker did not survive the search for its arguments."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from ..protocol.load_error import Excerpt, around, trouble
from ..protocol.source_lines import source_lines
from ..protocol.stack_dump import Fault, last_line
from .crash_report import Lost


def unsolved(lost: Lost, stub: dict[str, Any], recipe: str) -> dict[str, Any]:
    """What ``Unsolved`` tells: the worker ended while the Function was called, with nothing said of its arguments."""
    called = f"was called as {recipe}" if recipe else "was tried with one set of arguments after the other"
    place = lost.place(stub["file"])
    sentence = f"The worker process {lost} while {stub['title']} {called}{place}; a new one is starting."
    found = {"sentence": sentence, "argument": "", "recipe": recipe, "tried": [], "parameters": []}
    last = last_line(lost.calls, stub["file"])
    file, line = (PurePath(last.file).name, last.line) if last else ("", None)
    return stub | found | {"trouble": trouble(sentence, lost.kind, file, line, _excerpt(last, stub))}


def _excerpt(last: Fault | None, stub: dict[str, Any]) -> Excerpt:
    """The lines round the last one, as far as it is one of the Function's source."""
    lines = list(enumerate(source_lines(stub["source"]), stub["first_line"]))
    if last is None or not last.lies_in(stub["file"]) or last.line not in dict(lines):
        return []
    return around(lines, last.line)
