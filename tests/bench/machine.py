"""The machine and the releases a measurement was made with, in one paragraph."""

from __future__ import annotations

import os
import platform
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from gradloupe.server.runtime.devices import devices

RELEASES = ("torch", "numpy", "scipy", "numdifftools", "jacobi", "fastapi", "uvicorn")


def described() -> str:
    """Where, when and with what."""
    cpu = next(each.name for each in devices() if each.kind == "cpu")
    releases = ", ".join(f"{name} {version(name)}" for name in RELEASES)
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {cpu}, {os.cpu_count()} cores ({free_cores():.1f} of them free at the start), "
        f"{platform.system()}, Python {platform.python_version()}, {releases}"
    )


def free_cores() -> float:
    """How many cores nobody used during one second."""
    before = _idle()
    time.sleep(1)
    return (_idle() - before) / os.sysconf("SC_CLK_TCK")


def _idle() -> int:
    """Ticks in which a core was idle, or waited for a disk."""
    idle, waiting = Path("/proc/stat").read_text().split(maxsplit=6)[4:6]
    return int(idle) + int(waiting)
