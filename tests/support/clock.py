"""A clock that a test sets: a Function that takes long by it takes no time."""

from gradloupe.server.runtime.timing import Clock


class SetClock(Clock):
    """Stands still but where it is told to go on."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def goes_on(self, seconds: float) -> None:
        """This many seconds have been computed."""
        self.seconds += seconds

    def elapsed(self) -> float:
        return self.seconds

    def computed(self) -> float:
        return self.seconds

    def waited(self) -> int:
        return 0
