"""Progress of a report on standard error: a bar in a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .runner import ProgressCallback

# Outside a terminal: lines only for more Functions than this, and so many seconds apart.
_FEW, _EVERY = 20, 5.0


@dataclass
class ReportTotal:
    """The total number of Functions, once it is known."""

    total: int = 0


@contextmanager
def report_progress(far: ReportTotal, every: float = _EVERY) -> Iterator[ProgressCallback]:
    """A callback for the number of Functions done, their total, and the name of the next; shown on standard error."""
    error = Console(stderr=True)
    if not error.is_terminal:
        yield _lines(far, every)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=error, transient=True) as bar:
        task = bar.add_task("loading", total=None)

        def tell(number: int, total: int, name: str) -> None:
            far.total = total
            bar.update(task, description=name, total=total, completed=number)

        yield tell


def _lines(far: ReportTotal, every: float) -> ProgressCallback:
    said = time.monotonic()

    def tell(number: int, total: int, name: str) -> None:
        nonlocal said
        far.total = total
        if total > _FEW and time.monotonic() - said >= every:
            said = time.monotonic()
            sys.stderr.write(f"{number} of {total} Functions looked at, next {name}\n")
            sys.stderr.flush()

    return tell
