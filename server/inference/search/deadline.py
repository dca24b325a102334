"""Deadlines of a search: whether there is time for more calls, from how long the last ones took."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...runtime import timing

# bound: seconds of a call in which its thread did not compute that may be overlooked.
_IDLE = 1e-4


@dataclass
class Deadline:
    """A deadline at ``until``; ``took`` holds the seconds of the last calls, from which the next are predicted."""

    until: float = field(default_factory=lambda: timing.now() + 10)
    took: tuple[float, ...] = ()
    over: bool = False
    waited: int = field(default_factory=lambda: timing.clock.waited())

    def timed(self, begun: tuple[float, float]) -> None:
        """Record a call that started at ``begun``, which is ``timing.start()``, and has just ended.

        What the thread has waited for a processor does not count; that is asked only where it has not computed, for it
        takes longer than many a call.
        """
        elapsed, computed = timing.clock.elapsed() - begun[0], timing.clock.computed() - begun[1]
        if elapsed - computed > _IDLE:
            before, self.waited = self.waited, timing.clock.waited()
            elapsed = max(computed, elapsed - 1e-9 * (self.waited - before))
        self.took = (*self.took[-1:], elapsed)

    @property
    def seconds(self) -> float:
        """The predicted time of a call: the shorter of the last two, because any one may have been delayed."""
        return min(self.took, default=0.0)

    def has(self, calls: int) -> bool:
        """Whether there is time for this many calls; once there was no time for one, there is none for any."""
        # The thread has waited at least as long as when that was asked last.
        soonest = timing.clock.elapsed() - 1e-9 * self.waited + calls * self.seconds
        fits = not self.over and (soonest <= self.until or timing.now() + calls * self.seconds <= self.until)
        self.over = self.over or (not fits and calls == 1)
        return fits
