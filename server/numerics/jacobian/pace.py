"""How long a Function takes, so that no more is asked of it than there is time for."""

from __future__ import annotations

from time import perf_counter

from .copies import Copies

# A machine may be busy with something else: so many calls are timed, as long as that takes so many seconds at most.
LAPS, PATIENCE = 5, 0.1
# What a copy costs of a call of its own, where they are stacked.
SHARED = 0.2


def seconds(copies: Copies) -> float:
    """What one more copy takes, about: the quickest of several calls of one alone. Raises ``FunctionFailed``."""
    laps: list[float] = []
    while len(laps) < LAPS and sum(laps) < PATIENCE:
        begun = perf_counter()
        copies.forward(copies.repeated(1))
        laps.append(perf_counter() - begun)
    return min(laps) * (SHARED if copies.stacked else 1.0)
