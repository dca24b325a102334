"""How long a call takes, so that no more is asked of a Function than there is time for."""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time

from . import stopwatch

# A machine may be busy with something else: so many calls are timed, as long as they compute for so many seconds at
# most, and take so many in all.
LAPS, PATIENCE, MOST = 5, 0.1, 1.0


def quickest(call: Callable[[], object]) -> float:
    """The seconds that a call takes, the least of several; raises what it raises."""
    laps: list[float] = []
    started = thread_time()
    while len(laps) < LAPS and thread_time() - started < PATIENCE and sum(laps) < MOST:
        laps.append(stopwatch.taken(call))
    return min(laps)
