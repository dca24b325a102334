"""How long a call takes, so that no more is asked of a Function than there is time for."""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time

from . import timing

# A machine may be busy with something else: so many calls are timed, and more where none of them was quick, as long as
# they compute for so many seconds at most, and take so many in all.
LAPS, MORE, PATIENCE, MOST = 5, 60, 0.1, 1.0


def quickest(call: Callable[[], object], enough: float) -> float:
    """The seconds that a call takes, the least of several; raises what it raises.

    Others on the same processor empty its caches, so that it computes for longer: a call is not said to take more than
    ``enough``, with which all that is asked for can be had, before that is so of many.
    """
    laps: list[float] = []
    started = thread_time()
    while len(laps) < LAPS or (len(laps) < MORE and min(laps) > enough):
        laps.append(timing.taken(call))
        if thread_time() - started >= PATIENCE or sum(laps) >= MOST:
            break
    return min(laps)
