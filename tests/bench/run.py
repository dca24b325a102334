"""Measure the subjects named as arguments and print Markdown, or everything, and write docs/measured.md.

``make bench`` runs it.
"""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from importlib import import_module
from pathlib import Path

from report import Table, Target, page, summary

from gradloupe.server.protocol.python_command import ONE_THREAD

PAGE = Path(__file__).parents[2] / "docs" / "measured.md"
SUBJECTS = {
    "speed": "T1: y, both gradients and the error bound, against the least any program needs",
    "gradcheck_speed": "T11: against gradcheck, in process and over HTTP",
    "accuracy": "T6, T7: the numerical derivative and its error bound, against its peers",
    "special_points": "T9: kinks, jumps and edges",
    "line_accuracy": "T19: how far the drawn lines are off",
    "planted_bugs": "planted bugs, and what gradcheck says of them",
    "false_alarms": "innocents, at three ranges and in two dtypes",
    "hard_slopes": "fifteen hard slopes, and the error bounds of all who measure them",
    "sensitivity": "T8, T10: how small an error is seen",
    "verdict_speed": "the full verdict, against its floor and against gradcheck",
    "contract": "the contract X-ray: seconds an op, breaches and keepers",
    "jacobian": "T13: whole Jacobians, against functional.jacobian and gradcheck",
    "inference": "calls inferred for Functions that nobody declared: found, swept, judged rightly",
    "request_cost": "T2: CPU time of one request",
    "encoding": "T3, T4, T5: JSON, its bytes, and caches",
    "page_weight": "what our pages weigh, and how they come up",
    "embeds": "twenty figures on one page of somebody else",
    "load": "requests a second for 32 clients at once, and beyond the queue",
    "frameworks": "T16, T17: the same page in Dash, Streamlit and Gradio",
    "soak": "ten minutes of mixed traffic: errors and memory (SOAK=60 for one minute)",
    "startup": "T14, T15, T18: start and memory",
    "workers": "a new worker, copied and started by itself; the boundary per request; 100 killed workers",
}


def main() -> None:
    """Print the tables of every subject asked for, then what became of the targets; write the page if it was all."""
    subjects = _options()
    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
        # What is measured runs as it does in the worker, and libraries read this when they are loaded.
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ONE_THREAD)  # noqa: S606
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from machine import described

    machine = described()
    print(f"{machine}\n", flush=True)
    began = time.monotonic()
    tables, targets = list[Table](), list[Target]()
    for name in subjects:
        report = import_module(name).measure()
        targets += report.targets
        tables += report.tables
        for table in report.tables:
            print(table.markdown(), flush=True)
    tables.append(summary(targets))
    print(tables[-1].markdown())
    seconds = time.monotonic() - began
    print(f"Measured in {seconds:.0f} s.")
    if subjects == list(SUBJECTS):
        PAGE.write_text(page(machine, tables, seconds), encoding="utf-8")


def _options() -> list[str]:
    listed = "\n".join(f"  {name:15} {title}" for name, title in SUBJECTS.items())
    parser = ArgumentParser("run.py", description=__doc__, epilog=listed, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("subject", nargs="*", help="what to measure; everything if none is named")
    subjects: list[str] = parser.parse_args().subject
    if unknown := [each for each in subjects if each not in SUBJECTS]:
        parser.error(f"there is no subject {unknown[0]!r}; choose from {', '.join(SUBJECTS)}")
    return subjects or list(SUBJECTS)


if __name__ == "__main__":
    main()
