"""``gradloupe TARGET --check`` and ``--save-html``: the Functions are examined, the report is written, no server."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ..denial import EngineBusy
from ..mishap import trouble
from ..process import WorkerProcess
from ..settings import Settings
from ..whole import write
from . import text
from .allowed import NothingToAllow
from .document import document
from .examined import Tell, examined
from .found import Report
from .junit import junit
from .page import page


def check(process: WorkerProcess, chosen: Settings) -> int:
    """Report on what ``process`` imports, as ``chosen`` says; the exit code.

    0: all is well, or ``--check`` was not asked for; 1: something differs, fails or cannot be called; 2: nothing could
    be loaded, or the page not be written. Raises ``KeyboardInterrupt``.
    """
    with _progress() as tell:
        try:
            report = asyncio.run(examined(process, chosen.allow, tell, bool(chosen.save_html)))
        except NothingToAllow as problem:
            sys.stderr.write(f"gradloupe: {problem}\n")
            return 2
        except EngineBusy:  # it has but one question at a time: what it was waiting for was cancelled
            raise KeyboardInterrupt from None
    return told(report, chosen)


def unloaded(sentence: str, chosen: Settings) -> int:
    """The same where it is known beforehand that nothing can be loaded."""
    return told(Report(chosen.targets, (), trouble(sentence, "BadTarget")), chosen)


def told(report: Report, chosen: Settings) -> int:
    """Write the report wherever it is wanted; the exit code."""
    code = report.code
    if chosen.check and chosen.format != "text":
        sys.stdout.buffer.write(document(report) if chosen.format == "json" else junit(report))
        sys.stdout.buffer.flush()
    elif chosen.check:
        text.write(report, text.console(sys.stdout))
    if report.trouble and (chosen.format != "text" or not chosen.check):
        sys.stderr.write(f"gradloupe: {report.trouble['sentence']}\n")
    if chosen.save_html:
        try:
            write(Path(chosen.save_html), page(report))
        except OSError as problem:
            sys.stderr.write(f"gradloupe: {chosen.save_html} cannot be written: {problem.strerror or problem}.\n")
            return 2
        if not report.trouble:
            wrong = f"{len(report.faulty)} to look at" if report.faulty else "all is well"
            sys.stderr.write(f"Wrote {chosen.save_html}: {len(report.found)} Functions, {wrong}.\n")
    return code if chosen.check or code == 2 else 0


@contextmanager
def _progress() -> Iterator[Tell]:
    """How far it is, in the terminal; nowhere else."""
    error = Console(stderr=True)
    if not error.is_terminal:
        yield lambda number, total, name: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=error, transient=True) as progress:
        task = progress.add_task("loading", total=None)

        def tell(number: int, total: int, name: str) -> None:
            progress.update(task, description=name, total=total, completed=number)

        yield tell
