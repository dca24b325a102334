"""How long a call takes, so that no more is asked of a Function than there is time for."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

# A machine may be busy with something else: so many calls are timed, as long as that takes so many seconds at most.
LAPS, PATIENCE = 5, 0.1


def quickest(call: Callable[[], object]) -> float:
    """The seconds that a call takes, the least of several; raises what it raises."""
    laps: list[float] = []
    while len(laps) < LAPS and sum(laps) < PATIENCE:
        begun = perf_counter()
        call()
        laps.append(perf_counter() - begun)
    return min(laps)
