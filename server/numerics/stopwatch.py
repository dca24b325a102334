"""A clock for what is asked of a Function: a machine that is busy with something else does not make it slow."""

from __future__ import annotations

import time
from collections.abc import Callable

# Nanoseconds that this thread has computed, and that it was ready to and others had the processors (Linux).
SCHEDULED = "/proc/thread-self/schedstat"


def now() -> float:
    """Seconds since some moment, without those for which this thread waited for a processor; of this thread alone.

    Where the system does not tell those, they count as all others do.
    """
    waited = _waited()  # first: whoever waits between both is only later, and no clock goes back
    return time.monotonic() - 1e-9 * waited


def taken(call: Callable[[], object]) -> float:
    """The seconds that a call takes, counted as by ``now``; raises what it raises."""
    waited, computed, begun = _waited(), time.thread_time(), time.perf_counter()
    call()
    seconds, computed = time.perf_counter() - begun, time.thread_time() - computed
    return max(computed, seconds - 1e-9 * (_waited() - waited))


def _waited() -> int:
    try:
        with open(SCHEDULED, "rb", buffering=0) as told:
            return int(told.read().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
