"""How many workers may compute at once."""

import os
from contextlib import suppress
from pathlib import Path

_WORKER_BYTES = 2**30  # free bytes of memory that each further worker of a report must have
_MOST = 8  # workers of a server, where nobody says how many
# The quota of a container, and of how many microseconds: in one file, or in two of version 1 of control groups.
_QUOTAS = (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"))


def helper_count(count: int) -> int:
    """How many workers to use for ``count`` Functions, beside the first, where nobody waits for a single answer.

    As many as there are processors: a further worker is a copy of a process that has imported all it needs, and takes
    a tenth of a second; a Function takes three times as long or more.
    """
    if count <= 1 or (cores := usable_cores()) <= 1:
        return 0
    import psutil  # imported late: not needed for one

    return max(0, min(count, cores, psutil.virtual_memory().available // _WORKER_BYTES) - 1)


def default_workers() -> int:
    """How many workers a server has: one for each processor, within reason."""
    return min(_MOST, usable_cores())


def usable_cores(groups: Path = Path("/sys/fs/cgroup")) -> int:
    """The processors that this process may use: those of its affinity, or fewer where a container has a quota."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for files in _QUOTAS:
        with suppress(OSError, ValueError):
            quota, period = (float(word) for name in files for word in (groups / name).read_text().split())
            if quota > 0:  # -1: none
                return max(1, min(cores, int(quota / period)))
    return cores
