"""Timing of calls on a loaded machine: the clock leaves out the time spent waiting for a processor."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

# Nanoseconds that this thread has run, and that it was runnable but waiting for a processor (Linux), in so many bytes.
SCHEDULED, _FIELDS = "/proc/thread-self/schedstat", 64


class _Scheduled:
    """That file of one thread, kept open, as to open it takes ten times as long as to read it."""

    def __init__(self) -> None:
        self.path, self.descriptor = SCHEDULED, os.open(SCHEDULED, os.O_RDONLY)

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            os.close(self.descriptor)


_threads = threading.local()
os.register_at_fork(after_in_child=lambda: _threads.__dict__.clear())  # that tells of a thread of the parent


class Clock:
    """What all times here are read from. A test sets another one, by which a slow call takes no time."""

    def elapsed(self) -> float:
        """Seconds that have gone by."""
        return time.monotonic()

    def computed(self) -> float:
        """Seconds that this thread has computed."""
        return time.thread_time()

    def waited(self) -> int:
        """Nanoseconds that this thread was runnable but waiting for a processor; 0 where that is not reported."""
        try:
            if (file := getattr(_threads, "file", None)) is None or file.path != SCHEDULED:
                file = _threads.file = _Scheduled()
            return int(os.pread(file.descriptor, _FIELDS, 0).split()[1])
        except (OSError, IndexError, ValueError):
            return 0


clock = Clock()


def now() -> float:
    """A clock of this thread, in seconds, without the time it waited for a processor.

    It runs back by no more than two clocks of the system differ in rate.

    Where the system does not report that time, it is included.
    """
    waited = clock.waited()
    while True:
        moment, before = clock.elapsed(), waited
        waited = clock.waited()
        if waited == before:  # else it has waited in between, and the two readings are of different moments
            return moment - 1e-9 * waited


def time_of(call: Callable[[], object]) -> float:
    """The seconds that a call takes; raises what it raises.

    What the thread has waited for a processor does not count, and what it has computed always does.
    """
    first, waited, computed, begun = clock.elapsed(), clock.waited(), clock.computed(), clock.elapsed()
    call()
    ended, computed = clock.elapsed(), clock.computed() - computed
    lost = 1e-9 * (clock.waited() - waited)
    # In this order what it waited between two readings is never taken off without having been counted.
    return max(computed, clock.elapsed() - first - lost) if lost else ended - begun


# budget: on a busy machine a call is timed again until it was quick enough, within a limit of CPU seconds and one of
# elapsed seconds.
_MAX_REPEATS, _MAX_CPU_SECONDS, _MAX_SECONDS = 60, 0.1, 1.0


def minimum_time(call: Callable[[], object], enough: float) -> float:
    """The seconds that a call takes; raises what it raises.

    Other processes on the same processor evict its caches and slow a call down. A result above ``enough`` is therefore
    believed only as the minimum of several.
    """
    times: list[float] = []
    started = clock.computed()
    while not times or (len(times) < _MAX_REPEATS and min(times) > enough):
        times.append(time_of(call))
        if clock.computed() - started >= _MAX_CPU_SECONDS or sum(times) >= _MAX_SECONDS:
            break
    return min(times)


def start() -> tuple[float, float]:
    """The time, and what this thread has computed so far, in seconds."""
    return clock.elapsed(), clock.computed()
