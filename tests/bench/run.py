"""Measure the subjects named as arguments, or all of them, and write each into docs/measured.md once it is measured.

``make bench`` runs it.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from importlib import import_module
from pathlib import Path

from report import section, with_section

from gradloupe.server.protocol.job import ONE_THREAD

PAGE = Path(__file__).parents[2] / "docs" / "measured.md"
SUBJECTS = {
    "speed": "The curves and their error bounds, against the least any program needs",
    "verdict_speed": "The full verdict, against the same and against gradcheck",
    "gradcheck_speed": "The curves against gradcheck, in process and over HTTP",
    "accuracy": "The numerical derivative and its error bound, beside its peers",
    "hard_slopes": "Fifteen hard slopes, and the error bounds of all who measure them",
    "special_points": "Kinks, jumps and edges",
    "line_accuracy": "How far the drawn lines are off",
    "planted_bugs": "Planted bugs, and what gradcheck says of them",
    "census": "Random sums, right and wrong",
    "layers": "Random layers, in float32 and in half, by --check",
    "false_alarms": "Right Functions, at three ranges and in two dtypes",
    "sensitivity": "How small an error is seen",
    "contract": "The contract X-ray",
    "jacobian": "Whole Jacobians, against functional.jacobian and gradcheck",
    "inference": "Calls inferred for Functions that nobody declared",
    "mutants": "The judge on trial: mutants of right Functions, and gradcheck at the same calls",
    "proof": "Proofs: what is proved of the gallery, of mutants, sums and strangers' classes, and what peers say",
    "request_cost": "The CPU time of one request",
    "encoding": "JSON, its bytes, and caches",
    "page_weight": "What our pages weigh, and how they come up",
    "embeds": "Twenty figures on one page of somebody else",
    "load": "Requests a second for 32 clients at once, and beyond the queue",
    "viewers": "A hundred new viewers, all at once",
    "frameworks": "The same page in Dash, Streamlit and Gradio",
    "soak": "Mixed traffic for minutes: errors and memory",
    "startup": "Start and memory",
    "edits": "Edited code: latency, a class at once, and what many runs leave",
    "workers": "A new worker, the boundary per request, and 100 killed workers",
    "replicas": "Servers behind nginx: killed in turn, and followed by another build",
    "lecture": "A lecture of 10 to 100,000 viewers, simulated from measured costs",
}


def main() -> None:
    """Measure one subject after another; one that fails is told at the end."""
    subjects = _options()
    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
        # What is measured runs as it does in the worker, and libraries read this when they are loaded.
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ONE_THREAD)  # noqa: S606
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from machine import described

    failed = []
    for name in subjects:
        began, where = time.monotonic(), described()
        try:
            measured = import_module(name).measure()
        except Exception:  # noqa: BLE001 - the others are measured all the same
            traceback.print_exc()
            failed.append(name)
            continue
        written = section(SUBJECTS[name], f"{where}; {time.monotonic() - began:.0f} s.", measured)
        print(written, flush=True)
        PAGE.write_text(with_section(PAGE.read_text("utf-8"), written, list(SUBJECTS.values())), encoding="utf-8")
    if failed:
        sys.exit(f"{', '.join(failed)}: not measured, for the reasons above.")


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
