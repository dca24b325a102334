"""The line in a terminal that says which Functions are looked at, and how many are done."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ..protocol.suggest import first_few
from .examination_queue import ProgressCallback

_MOST_NAMED = 2


@dataclass
class ReportTotal:
    """The total number of Functions, once it is known."""

    total: int = 0


@contextmanager
def report_progress(progress: ReportTotal, wanted: bool = True) -> Iterator[ProgressCallback]:
    """A callback for the number of Functions done, their total, and the names of those under way.

    Where it is ``wanted``, and both outputs are a terminal, one line on standard error shows them, and is gone at the
    end. Nothing of it gets into a pipe, a log or a document.
    """

    def count(done: int, total: int, names: Sequence[str]) -> None:
        progress.total = total

    if not (wanted and sys.stdout.isatty() and sys.stderr.isatty()):
        yield count
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("loading", total=None)

        def tell(done: int, total: int, names: Sequence[str]) -> None:
            count(done, total, names)
            bar.update(task, description=escape(first_few(names, _MOST_NAMED)), total=total, completed=done)

        yield tell
