"""What this process writes: standard streams, closed ones and one that cannot be written to, a bar on standard error,
and files that are replaced as a whole.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path


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


def atomic_write(path: Path, content: bytes) -> None:
    """Write or replace a file; raises ``OSError``, and then leaves the old file as it was."""
    path = path.resolve()
    if path.is_dir():
        raise IsADirectoryError(None, "it is a folder", str(path))
    if path.exists() and not path.is_file():  # a device or a pipe cannot be replaced
        path.write_bytes(content)
        return
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
