"""A bound on how long a Function is waited for, in this process: it is interrupted, not ended."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from . import timing

# Seconds: the shortest that there are, and after how many a Function that has swallowed the first is told again.
SOON, _AGAIN = 1e-3, 0.1


class TookTooLong(BaseException):
    """Raised inside a Function that has had its time; not an ``Exception``, which it may catch.

    ``running`` is for how many seconds the call that was interrupted had been running.
    """

    def __init__(self, message: str, running: float = 0.0) -> None:
        super().__init__(message)
        self.running = running


class _Calls:
    """When the last call of a Function began."""

    began = 0.0


def begun() -> None:
    """Say that a call of a Function begins now."""
    _Calls.began = timing.now()


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__") == "importlib._bootstrap":
            return True
        frame = frame.f_back
    return False


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise ``TookTooLong`` in whatever Python code runs inside after so many seconds, again and again.

    An alarm that was set before goes off when it would have. Outside the main thread there is no bound. An import is
    never interrupted, which would leave half a module for the life of the process. The time is that of ``stopwatch``.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    started, inside = timing.now(), True

    def interrupt(number: int, frame: FrameType | None) -> None:
        if not inside:
            return
        now = timing.now()
        if now - started < seconds:
            signal.setitimer(signal.ITIMER_REAL, max(seconds - now + started, SOON), _AGAIN)
        elif not _importing(frame):
            raise TookTooLong(f"it was not back after {seconds:.2g} s", now - max(_Calls.began, started))

    before = signal.signal(signal.SIGALRM, interrupt)
    left, again = signal.setitimer(signal.ITIMER_REAL, max(seconds, SOON), _AGAIN)
    try:
        yield
    finally:
        inside = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - (timing.now() - started), SOON), again)
