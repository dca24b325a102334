"""The commands ``gradloupe TARGET --check`` and ``--save-html``: examine the Functions, write the report, exit code."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ..config.settings import Settings
from ..protocol.errors import EngineBusy
from ..protocol.load_error import load_error
from ..supervisor.worker_process import WorkerProcess
from . import terminal
from .atomic_write import atomic_write
from .html_page import html_report
from .json_report import json_report
from .junit import junit_report
from .result import ExaminedFunction, Report
from .runner import ProgressCallback, UnknownAllowance, examine_targets, in_order

# Outside a terminal: progress only for more Functions than this, and so many seconds apart.
_FEW, _INTERVAL = 20, 5.0


def run_report(process: WorkerProcess, chosen: Settings) -> int:
    """Report on what ``process`` imports, as ``chosen`` says; returns the exit code.

    0: all is well, or ``--check`` was not given; 1: something differs, fails, is undecided or cannot be called; 2: a
    target could not be loaded, nothing be judged, or the page not be written. Raises ``KeyboardInterrupt``, after
    printing the results so far.
    """
    began, results, progress = time.monotonic(), dict[int, ExaminedFunction](), ReportTotal()
    try:
        with report_progress(progress) as tell:
            report = asyncio.run(
                examine_targets(process, chosen.allow, tell, bool(chosen.save_html), results, chosen.strict)
            )
    except UnknownAllowance as problem:
        sys.stderr.write(f"gradloupe: {problem}\n")
        return 2
    except (EngineBusy, KeyboardInterrupt):  # busy: cancelled while it waited for an answer
        if results and chosen.check and chosen.format == "text":
            left = progress.total - len(results)
            until_now = Report(chosen.targets, in_order(results), seconds=time.monotonic() - began, left=left)
            terminal.print_report(until_now, terminal.console(sys.stdout))
        raise KeyboardInterrupt from None
    return write_report(report, chosen)


def report_bad_target(sentence: str, chosen: Settings) -> int:
    """The report on targets that cannot be loaded, which is known without starting a worker."""
    return write_report(Report(chosen.targets, (), (load_error(sentence, "BadTarget"),)), chosen)


def write_report(report: Report, chosen: Settings) -> int:
    """Write the report in the formats that were asked for; returns the exit code."""
    code = report.code
    if chosen.check and chosen.format != "text":
        sys.stdout.buffer.write(json_report(report) if chosen.format == "json" else junit_report(report))
        sys.stdout.buffer.flush()
    elif chosen.check:
        terminal.print_report(report, terminal.console(sys.stdout))
    for each in report.troubles if chosen.format != "text" or not chosen.check else ():
        sys.stderr.write(f"gradloupe: {each['sentence']}\n")
    if chosen.save_html:
        try:
            atomic_write(Path(chosen.save_html), html_report(report))
        except OSError as problem:
            sys.stderr.write(f"gradloupe: {chosen.save_html} cannot be written: {problem.strerror or problem}.\n")
            return 2
        if report.found:
            well = "not all loaded" if report.troubles else "all is well"
            wrong = f"{len(report.faulty)} to look at" if report.faulty else well
            sys.stderr.write(f"Wrote {chosen.save_html}: {len(report.found)} Functions, {wrong}.\n")
    return code if chosen.check or report.troubles else 0


@dataclass
class ReportTotal:
    """The total number of Functions, once it is known."""

    total: int = 0


@contextmanager
def report_progress(progress: ReportTotal, every: float = _INTERVAL) -> Iterator[ProgressCallback]:
    """A callback for the number of Functions done, their total, and the name of the next; shown on standard error."""
    error = Console(stderr=True)
    if not error.is_terminal:
        yield _lines(progress, every)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=error, transient=True) as bar:
        task = bar.add_task("loading", total=None)

        def tell(number: int, total: int, name: str) -> None:
            progress.total = total
            bar.update(task, description=name, total=total, completed=number)

        yield tell


def _lines(progress: ReportTotal, every: float) -> ProgressCallback:
    last_time = time.monotonic()

    def tell(number: int, total: int, name: str) -> None:
        nonlocal last_time
        progress.total = total
        if total > _FEW and time.monotonic() - last_time >= every:
            last_time = time.monotonic()
            sys.stderr.write(f"{number} of {total} Functions looked at, next {name}\n")
            sys.stderr.flush()

    return tell
