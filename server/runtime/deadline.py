"""How long calls of one Function take, and whether there is time for more."""

from __future__ import annotations

from dataclasses import dataclass, field

from . import timing


@dataclass
class Clock:
    """Ends at ``until``; ``took`` are the seconds of the last calls, by which the next ones are foreseen."""

    until: float = field(default_factory=lambda: timing.now() + 10)
    took: tuple[float, ...] = ()
    over: bool = False

    def timed(self, begun: float) -> None:
        """Note that a call that began then has ended."""
        self.took = (*self.took[-1:], timing.now() - begun)

    @property
    def seconds(self) -> float:
        """What a call is foreseen to take: the shorter of the last two, for any call may be held up by others."""
        return min(self.took, default=0.0)

    def has(self, calls: int) -> bool:
        """Whether there is time for so many calls; there is for none once there was not for one."""
        fits = not self.over and timing.now() + calls * self.seconds <= self.until
        self.over = self.over or (not fits and calls == 1)
        return fits
