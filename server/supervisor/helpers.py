"""How many workers may compute at once where nobody waits for a single answer."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_WORKER_BYTES = 2**30  # free bytes of memory that each further worker must have
_QUOTA = Path("/sys/fs/cgroup/cpu.max")  # of a container, in microseconds of every so many


def helper_count(count: int) -> int:
    """How many workers to use for ``count`` Functions, beside the first.

    As many as there are processors: a further worker is a copy of a process that has imported all it needs, and takes
    a tenth of a second; a Function takes three times as long or more.
    """
    if count <= 1 or (cores := usable_cores()) <= 1:
        return 0
    import psutil  # imported late: not needed for one

    return max(0, min(count, cores, psutil.virtual_memory().available // _WORKER_BYTES) - 1)


def usable_cores() -> int:
    """The processors that this process may use: those of its affinity, or fewer where a container has a quota."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):
        quota, period = map(float, _QUOTA.read_text().split())
        return max(1, min(cores, int(quota / period)))
    return cores
