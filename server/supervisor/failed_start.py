"""What is said of a worker that has ended before it greeted: as if it had greeted and said so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..protocol.job import Work
from ..protocol.load_error import Excerpt, around, trouble
from ..protocol.source_lines import source_lines
from ..protocol.stack_dump import Fault, last_line
from .crash_report import Lost

MOST_COLUMNS = 200
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
    return {"broken": sentence, "trouble": trouble(sentence, lost.kind, file, line, _excerpt(last))}


def _excerpt(last: Fault | None) -> Excerpt:
    """The lines round the last one, as they are in the file now."""
    if last is None:
        return []
    try:
        text = Path(last.file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return around(((number, line[:MOST_COLUMNS]) for number, line in enumerate(source_lines(text), 1)), last.line)
