"""The commands ``gradloupe TARGET --check`` and ``--save-html``: examine the Functions, write the report, exit code."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from ..config.settings import Settings
from ..protocol.errors import EngineBusy
from ..protocol.load_error import trouble
from ..supervisor.worker_process import WorkerProcess
from . import terminal
from .allowlist import NothingToAllow
from .atomic_write import write
from .html_page import page
from .json_report import document
from .junit import junit
from .progress import Far, progress
from .report_data import Found, Report
from .runner import each_of, in_order


def check(process: WorkerProcess, chosen: Settings) -> int:
    """Report on what ``process`` imports, as ``chosen`` says; returns the exit code.

    0: all is well, or ``--check`` was not given; 1: something differs, fails or cannot be called; 2: a target could
    not be loaded, or the page not be written. Raises ``KeyboardInterrupt``, after printing the results so far.
    """
    began, found, far = time.monotonic(), dict[int, Found](), Far()
    try:
        with progress(far) as tell:
            report = asyncio.run(each_of(process, chosen.allow, tell, bool(chosen.save_html), found))
    except NothingToAllow as problem:
        sys.stderr.write(f"gradloupe: {problem}\n")
        return 2
    except (EngineBusy, KeyboardInterrupt):  # busy: cancelled while it waited for an answer
        if found and chosen.check and chosen.format == "text":
            left = far.total - len(found)
            until_now = Report(chosen.targets, in_order(found), seconds=time.monotonic() - began, left=left)
            terminal.write(until_now, terminal.console(sys.stdout))
        raise KeyboardInterrupt from None
    return told(report, chosen)


def unloaded(sentence: str, chosen: Settings) -> int:
    """The report on targets that cannot be loaded, which is known without starting a worker."""
    return told(Report(chosen.targets, (), (trouble(sentence, "BadTarget"),)), chosen)


def told(report: Report, chosen: Settings) -> int:
    """Write the report in the formats that were asked for; returns the exit code."""
    code = report.code
    if chosen.check and chosen.format != "text":
        sys.stdout.buffer.write(document(report) if chosen.format == "json" else junit(report))
        sys.stdout.buffer.flush()
    elif chosen.check:
        terminal.write(report, terminal.console(sys.stdout))
    for each in report.troubles if chosen.format != "text" or not chosen.check else ():
        sys.stderr.write(f"gradloupe: {each['sentence']}\n")
    if chosen.save_html:
        try:
            write(Path(chosen.save_html), page(report))
        except OSError as problem:
            sys.stderr.write(f"gradloupe: {chosen.save_html} cannot be written: {problem.strerror or problem}.\n")
            return 2
        if report.found:
            well = "not all loaded" if report.troubles else "all is well"
            wrong = f"{len(report.faulty)} to look at" if report.faulty else well
            sys.stderr.write(f"Wrote {chosen.save_html}: {len(report.found)} Functions, {wrong}.\n")
    return code if chosen.check or code == 2 else 0
