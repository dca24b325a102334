"""Times of several candidates, measured in turns so that a busy machine is busy for all of them."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter


@dataclass(frozen=True)
class Times:
    """Seconds of every candidate in every round."""

    seconds: dict[str, list[float]]

    def median(self, name: str) -> float:
        """The median time of one candidate, in seconds."""
        return median(self.seconds[name])

    def ratio(self, name: str, to: str) -> float:
        """How many times longer than ``to`` one candidate takes: the median over the rounds."""
        return median(ours / theirs for ours, theirs in zip(self.seconds[name], self.seconds[to], strict=True))


def interleave(candidates: dict[str, Callable[[], object]], rounds: int = 60, budget: float = 10.0) -> Times:
    """Run every candidate once a round, each after a warm call, for ``rounds`` or until ``budget`` seconds are over."""
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    names = list(candidates)
    for call in candidates.values():
        call()
    end = perf_counter() + budget
    gc.collect()
    gc.disable()
    try:
        for turn in range(rounds):
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                seconds[name].append(_timed(candidates[name]))
            if perf_counter() > end and turn >= 4:
                break
    finally:
        gc.enable()
    return Times(seconds)


def _timed(call: Callable[[], object]) -> float:
    call()
    start = perf_counter()
    call()
    return perf_counter() - start
