"""The standard streams of this process: closed ones, one that cannot be written to, and a bar on standard error."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial


def open_closed_streams() -> None:
    """Open /dev/null in the place of standard streams that are closed."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115 - until the end


def lead_stdout_nowhere() -> None:
    """Let the standard output lead nowhere, as it cannot be written to: Python would try again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def progress_bar(words: str, total: int | None, shown: bool) -> Iterator[Callable[..., None]]:
    """A bar on standard error, which is gone at the end; it takes what ``rich.progress.Progress.update`` does.

    Where it is not ``shown``, nothing comes of that.
    """
    if not shown:
        yield lambda **_: None
        return
    from rich.console import Console  # imported late: the command line starts without it
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield partial(bar.update, bar.add_task(words, total=total))
