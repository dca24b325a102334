"""What is said of a visitor's Function whose worker did not survive the search for its arguments."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from .fault import Fault, last_line
from .loss import Lost

AROUND = 3  # lines


def unsolved(lost: Lost, stub: dict[str, Any], recipe: str) -> dict[str, Any]:
    """What ``Unsolved`` tells: the worker ended while the Function was called, with nothing said of its arguments."""
    called = f"was called as {recipe}" if recipe else "was tried with one set of arguments after the other"
    place = lost.place(stub["file"])
    sentence = f"The worker process {lost} while {stub['title']} {called}{place}; a new one is starting."
    found = {"sentence": sentence, "argument": "", "recipe": recipe, "tried": [], "parameters": []}
    return stub | found | {"trouble": _trouble(lost, stub, sentence)}


def _trouble(lost: Lost, stub: dict[str, Any], sentence: str) -> dict[str, Any]:
    """The same as that of a load: with the line that was running, as far as it is one of the Function's source."""
    last = last_line(lost.calls, stub["file"])
    return {
        "sentence": sentence,
        "kind": lost.kind,
        "file": PurePath(last.file).name if last else "",
        "line": last.line if last else None,
        "excerpt": _excerpt(last, stub),
        "traceback": "",
    }


def _excerpt(last: Fault | None, stub: dict[str, Any]) -> list[list[Any]]:
    lines = list(enumerate(stub["source"].splitlines(), stub["first_line"]))
    if last is None or not last.lies_in(stub["file"]) or last.line not in dict(lines):
        return []
    return [[number, text] for number, text in lines if abs(number - last.line) <= AROUND]
