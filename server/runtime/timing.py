"""Timing of calls on a loaded machine: clocks that leave out the time spent waiting for a processor, and deadlines."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field

# Nanoseconds that this thread has run, and that it was runnable but waiting for a processor (Linux).
SCHEDULED = "/proc/thread-self/schedstat"


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
            with open(SCHEDULED, "rb", buffering=0) as file:
                return int(file.read().split()[1])
        except (OSError, IndexError, ValueError):
            return 0


clock = Clock()


def now() -> float:
    """A monotonic clock of this thread, in seconds, without the time it waited for a processor.

    Where the system does not report that time, it is included.
    """
    waited = clock.waited()
    while True:
        moment, before = clock.elapsed(), waited
        waited = clock.waited()
        if waited == before:  # else it has waited in between, and the two readings are of different moments
            return moment - 1e-9 * waited


def time_short_call(call: Callable[[], object]) -> float:
    """The seconds that a short call takes; raises what it raises.

    If the thread was preempted, and never gave up the processor itself, only its CPU time counts.
    """
    computed, switched, begun = clock.computed(), _context_switches(), clock.elapsed()
    call()
    seconds = clock.elapsed() - begun
    (forced, willing), (before_forced, before_willing) = _context_switches(), switched
    return clock.computed() - computed if forced > before_forced and willing == before_willing else seconds


def time_by_clock(call: Callable[[], object]) -> float:
    """The seconds that a call takes by the clock ``now``; raises what it raises.

    Costs more, but is more reliable: waiting for a processor after a sleep does not count as sleep.
    """
    begun, waited = clock.elapsed(), clock.waited()
    call()
    waited = clock.waited() - waited  # in this order a wait between two readings is never taken off twice
    return clock.elapsed() - begun - 1e-9 * waited


def _context_switches() -> tuple[int, int]:
    """The thread's involuntary and voluntary context switches; (0, 0) where the system does not report them."""
    who = getattr(resource, "RUSAGE_THREAD", None)
    if who is None:
        return 0, 0
    usage = resource.getrusage(who)
    return usage.ru_nivcsw, usage.ru_nvcsw


# budget: on a busy machine a call is timed again until it was quick enough, from the sixth time on by the better clock,
# within a limit of CPU seconds and one of elapsed seconds.
_REPEATS, _MAX_REPEATS, _MAX_CPU_SECONDS, _MAX_SECONDS = 5, 60, 0.1, 1.0


def minimum_time(call: Callable[[], object], enough: float) -> float:
    """The seconds that a call takes; raises what it raises.

    Other processes on the same processor evict its caches and slow a call down. A result above ``enough`` is therefore
    believed only as the minimum of several.
    """
    times: list[float] = []
    started = clock.computed()
    while not times or (len(times) < _MAX_REPEATS and min(times) > enough):
        times.append(time_short_call(call) if len(times) < _REPEATS else time_by_clock(call))
        if clock.computed() - started >= _MAX_CPU_SECONDS or sum(times) >= _MAX_SECONDS:
            break
    return min(times)


def start() -> tuple[float, float]:
    """The time, and what this thread has computed so far, in seconds."""
    return clock.elapsed(), clock.computed()


# bound: seconds of a call in which its thread did not compute that may be overlooked.
_IDLE = 1e-4


@dataclass
class Deadline:
    """A deadline at ``until``; ``took`` holds the seconds of the last calls, from which the next are predicted."""

    until: float = field(default_factory=lambda: now() + 10)
    took: tuple[float, ...] = ()
    over: bool = False
    waited: int = field(default_factory=lambda: clock.waited())

    def timed(self, begun: tuple[float, float]) -> None:
        """Record a call that started at ``begun``, which is ``start()``, and has just ended.

        What the thread has waited for a processor does not count; that is asked only where it has not computed, for it
        takes longer than many a call.
        """
        elapsed, computed = clock.elapsed() - begun[0], clock.computed() - begun[1]
        if elapsed - computed > _IDLE:
            before, self.waited = self.waited, clock.waited()
            elapsed = max(computed, elapsed - 1e-9 * (self.waited - before))
        self.took = (*self.took[-1:], elapsed)

    @property
    def seconds(self) -> float:
        """The predicted time of a call: the shorter of the last two, because any one may have been delayed."""
        return min(self.took, default=0.0)

    def has(self, calls: int) -> bool:
        """Whether there is time for this many calls; once there was no time for one, there is none for any."""
        # The thread has waited at least as long as when that was asked last.
        soonest = clock.elapsed() - 1e-9 * self.waited + calls * self.seconds
        fits = not self.over and (soonest <= self.until or now() + calls * self.seconds <= self.until)
        self.over = self.over or (not fits and calls == 1)
        return fits
