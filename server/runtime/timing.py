"""A clock for what is asked of a Function: a machine that is busy with something else does not make it slow."""

from __future__ import annotations

import resource
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
    """The seconds that a call takes, for many quick ones; raises what it raises.

    Those for which it was interrupted by others are left out where it has not waited for anything else, too.
    """
    computed, switched, begun = time.thread_time(), _switched(), time.perf_counter()
    call()
    seconds = time.perf_counter() - begun
    (forced, willing), (before_forced, before_willing) = _switched(), switched
    return time.thread_time() - computed if forced > before_forced and willing == before_willing else seconds


def _switched() -> tuple[int, int]:
    """How often this thread was interrupted, and how often it has made room; (0, 0) where the system does not tell."""
    who = getattr(resource, "RUSAGE_THREAD", None)
    if who is None:
        return 0, 0
    usage = resource.getrusage(who)
    return usage.ru_nivcsw, usage.ru_nvcsw


def _waited() -> int:
    try:
        with open(SCHEDULED, "rb", buffering=0) as told:
            return int(told.read().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
