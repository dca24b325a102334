"""The commands ``gradloupe TARGET --check`` and ``--save-html``: examine the Functions, write the report, exit code."""

import asyncio
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.markup import escape

from ..config.settings import Settings
from ..output import atomic_write, lead_stdout_nowhere, progress_bar
from ..protocol.errors import EngineBusy
from ..protocol.listed import first_few
from ..protocol.load_error import load_error
from ..supervisor.worker_process import WorkerProcess
from . import terminal
from .baseline import Baseline, UnknownAllowance, baseline_of, baseline_text, with_baseline
from .json_report import json_report, sarif_report
from .junit import junit_report
from .result import ExaminedFunction, Report
from .runner import Wanted, examine_targets, in_order
from .summarize import spared

_MOST_NAMED = 2  # Functions, in the line of the progress
_DOCUMENTS = {"json": json_report, "junit": junit_report, "sarif": sarif_report}
__all__ = ["Wanted", "examine_targets", "report_bad_target", "report_nothing", "run_report", "write_report"]


def run_report(process: WorkerProcess, chosen: Settings, known: Baseline | None) -> int:
    """Report on what ``process`` imports, as ``chosen`` says; returns the exit code.

    0: all is well, or ``--check`` was not given; 1: something differs, fails, is undecided or cannot be called; 2: a
    target could not be loaded, nothing be judged, or the report not be written. ``known`` is the baseline. Raises
    ``KeyboardInterrupt``, after printing the results so far.
    """
    began, results, total = time.monotonic(), dict[int, ExaminedFunction](), 0
    # Nothing of the progress gets into a pipe, a log or a document.
    seen = chosen.format == "text" and sys.stdout.isatty() and sys.stderr.isatty()

    def tell(done: int, count: int, names: Sequence[str]) -> None:
        nonlocal total
        total = count
        update(description=escape(first_few(names, _MOST_NAMED)), total=total, completed=done)

    try:
        with progress_bar("loading", None, seen) as update:
            wanted = Wanted(chosen.allow, tell, bool(chosen.save_html), results, chosen.strict)
            report = asyncio.run(examine_targets(process, wanted))
    except UnknownAllowance as problem:
        sys.stderr.write(f"gradloupe: {problem}\n")
        return 2
    except (EngineBusy, KeyboardInterrupt):  # busy: cancelled while it waited for an answer
        if results and chosen.check and chosen.format == "text":
            left = total - len(results)
            until_now = Report(chosen.targets, in_order(results), seconds=time.monotonic() - began, left=left)
            _print_report(until_now, chosen)
        raise KeyboardInterrupt from None
    if chosen.data and not chosen.everywhere:
        found = tuple(replace(each, checked=spared(each.checked)) for each in report.found)
        report = replace(report, found=found)
    if known is not None and chosen.write_baseline:
        known = baseline_of(report, known)
        if not _write(chosen.baseline, baseline_text(known)):
            return 2
    return write_report(report if known is None else with_baseline(report, known, chosen.baseline), chosen)


def report_bad_target(sentence: str, chosen: Settings) -> int:
    """The report on targets that cannot be loaded, which is known without starting a worker."""
    return write_report(Report(chosen.targets, (), (load_error(sentence, "BadTarget"),)), chosen)


def report_nothing(chosen: Settings) -> int:
    """The report on folders in which no file defines a Function."""
    where = ", ".join(chosen.targets)
    return write_report(
        Report(chosen.targets, notes=(f"No file in {where} defines a torch.autograd.Function.",)), chosen
    )


def write_report(report: Report, chosen: Settings) -> int:
    """Write the report in the formats that were asked for; returns the exit code."""
    written = not chosen.check or _print_report(report, chosen)
    for each in report.troubles if chosen.format != "text" or not chosen.check else ():
        sys.stderr.write(f"gradloupe: {each['sentence']}\n")
    if chosen.save_html:
        from .html_page import html_report  # imported late: most reports are text, and start without it

        if not _write(chosen.save_html, html_report(report)):
            return 2
        if report.found:
            well = "not all loaded" if report.troubles else "all is well"
            wrong = f"{len(report.faulty)} need{'s' * (len(report.faulty) == 1)} attention" if report.faulty else well
            sys.stderr.write(f"Wrote {chosen.save_html}: {len(report.found)} Functions, {wrong}.\n")
    if not written:
        return 2
    return report.code if chosen.check or report.troubles else 0


def _write(path: str, content: bytes) -> bool:
    """Write a file; whether it could be, which is said otherwise."""
    try:
        atomic_write(Path(path), content)
    except OSError as problem:
        sys.stderr.write(f"gradloupe: {path} cannot be written: {problem.strerror or problem}.\n")
        return False
    return True


def _print_report(report: Report, chosen: Settings) -> bool:
    """Write the report to the standard output; whether it could be, or its reader has closed it, having read enough."""
    try:
        if chosen.format == "text":
            terminal.print_report(report, terminal.console(sys.stdout), chosen.verbose)
        else:
            sys.stdout.buffer.write(_DOCUMENTS[chosen.format](report))
            sys.stdout.buffer.flush()
    except OSError as problem:
        lead_stdout_nowhere()
        if not isinstance(problem, BrokenPipeError):
            sys.stderr.write(f"gradloupe: the report cannot be written: {problem.strerror}.\n")
            return False
    return True
