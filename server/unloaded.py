"""What is said of a worker that has ended before it greeted: as if it had greeted and said so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .fault import Fault, last_line
from .loss import Lost
from .work import Work

AROUND, MOST_COLUMNS = 3, 200
ADVICE = {
    "Timeout": "; let it compute less there, or allow it more time",
    "Memory": "; let it take less there, or allow it more",
    "exit": "; call that only where `__name__` is `__main__`",
}


def unloaded(lost: Lost, work: Work) -> dict[str, Any]:
    """The sentence ``broken`` and the ``trouble`` it belongs to, with the line that was running."""
    last = last_line(lost.calls)
    if work.targets:
        advice = ADVICE.get("exit" if lost.kind.startswith("exit code") else lost.kind, "")
        sentence = f"The process that imported {', '.join(work.targets)} {lost}{lost.place()}{advice}."
    else:
        sentence = f"The worker process {lost} while it loaded the ops{lost.place()}; see the log."
    file, line = (Path(last.file).name, last.line) if last else ("", None)
    trouble = {"sentence": sentence, "kind": lost.kind, "file": file, "line": line}
    return {"broken": sentence, "trouble": trouble | {"excerpt": _excerpt(last), "traceback": ""}}


def _excerpt(last: Fault | None) -> list[list[Any]]:
    """The lines round the last one, as they are in the file now."""
    if last is None:
        return []
    try:
        text = Path(last.file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    numbered = list(enumerate(text.splitlines(), 1))[max(0, last.line - 1 - AROUND) : last.line + AROUND]
    return [[number, line[:MOST_COLUMNS]] for number, line in numbered]
