"""The standard streams of this process, where they are closed or cannot be written to."""

from __future__ import annotations

import os
import sys


def open_closed_streams() -> None:
    """Open /dev/null in the place of standard streams that are closed."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115 - until the end


def lead_stdout_nowhere() -> None:
    """Let the standard output lead nowhere, as it cannot be written to: Python would try again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
