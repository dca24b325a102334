"""A clock for what is asked of a Function: a machine that is busy with something else does not make it slow."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from time import thread_time

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


def passed(call: Callable[[], object]) -> float:
    """The seconds by ``now`` that a call takes; raises what it raises.

    Dearer than ``taken`` and surer: who sleeps, and has to wait for a processor then, has not slept for longer.
    """
    begun = now()
    call()
    return now() - begun


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


# A machine may be busy with something else: so many calls are timed, and more where none of them was quick, as long as
# they compute for so many seconds at most, and take so many in all.
LAPS, _MORE, _PATIENCE, _MOST = 5, 60, 0.1, 1.0


def quickest(call: Callable[[], object], enough: float) -> float:
    """The seconds that a call takes, the least of several; raises what it raises.

    Others on the same processor empty its caches, so that it computes for longer: a call is not said to take more than
    ``enough``, with which all that is asked for can be had, before that is so of many.
    """
    laps: list[float] = []
    started = thread_time()
    while len(laps) < LAPS or (len(laps) < _MORE and min(laps) > enough):
        laps.append(taken(call) if len(laps) < LAPS else passed(call))
        if thread_time() - started >= _PATIENCE or sum(laps) >= _MOST:
            break
    return min(laps)


@dataclass
class Clock:
    """Ends at ``until``; ``took`` are the seconds of the last calls, by which the next ones are foreseen."""

    until: float = field(default_factory=lambda: now() + 10)
    took: tuple[float, ...] = ()
    over: bool = False

    def timed(self, begun: float) -> None:
        """Note that a call that began then has ended."""
        self.took = (*self.took[-1:], now() - begun)

    @property
    def seconds(self) -> float:
        """What a call is foreseen to take: the shorter of the last two, for any call may be held up by others."""
        return min(self.took, default=0.0)

    def has(self, calls: int) -> bool:
        """Whether there is time for so many calls; there is for none once there was not for one."""
        fits = not self.over and now() + calls * self.seconds <= self.until
        self.over = self.over or (not fits and calls == 1)
        return fits
