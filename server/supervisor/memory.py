"""Resident memory of a worker process and its descendants."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from psutil import Process

MIB = 2**20


def exceeds_memory(pid: int, most: int) -> bool:
    """Whether a process and its descendants exceed ``most`` MiB of resident memory.

    Shared pages count once (PSS), where the system reports that.
    """
    import psutil  # imported late: only long questions need it

    try:
        first = psutil.Process(pid)
        family = [first, *first.children(recursive=True)]
    except psutil.Error:
        return False
    if sum(_of(each, whole=True) for each in family) <= most * MIB:
        return False
    return len(family) == 1 or sum(_of(each, whole=False) for each in family) > most * MIB


def _of(process: Process, whole: bool) -> int:
    """Bytes of one process: RSS if ``whole``, else PSS; 0 when it has just ended."""
    import psutil

    with suppress(psutil.Error):
        found = process.memory_info() if whole else process.memory_full_info()
        return int(found.rss if whole else getattr(found, "pss", found.rss))
    return 0
