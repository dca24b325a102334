"""Time limits inside one process: a Function that runs too long is interrupted by SIGALRM, not killed."""

from __future__ import annotations

import gc
import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import TypeVar

import torch

from ..protocol.stack_dump import last_line, running_frames
from . import timing

_T = TypeVar("_T")
# budget: seconds of the shortest alarm, and between its repetitions where a Function has swallowed the first.
_SHORTEST, _INTERVAL = 1e-3, 0.1
# budget: the seconds of an answer for which no deadline is set; the share of a deadline that is planned with, and that
# after which what is late all the same is interrupted: what runs in C ends later, and what was found has to be sent.
_USUAL, _PLANNED, _LATEST = 10.0, 0.92, 0.97


class TookTooLong(BaseException):
    """Raised inside a Function whose time is up; not an ``Exception``, which the Function might catch.

    ``running`` is how long the interrupted call had been running, in seconds; ``place`` is the last line of the user's
    that ran, as the end of a sentence.
    """

    def __init__(self, message: str, running: float = 0.0, place: str = "") -> None:
        super().__init__(message)
        self.running, self.place = running, place


class NeverReturned(Exception):
    """Raised where another process ran a Function, and was ended when its time was up."""


# Tracers: they run while a generator is closed, too, and out of that no exception comes.
UNINTERRUPTED: set[CodeType] = set()


class _Calls:
    """The start time of the last call of a Function, and when the answer for which it was called is due."""

    began = 0.0
    due = math.inf


def note_call_start() -> None:
    """Note that a call of a Function starts now."""
    _Calls.began = timing.now()


def must_finish(frame: FrameType | None) -> bool:
    """Whether an import is running, a tracer, or a callback of the garbage collector: no exception comes out of it."""
    callbacks = UNINTERRUPTED | {getattr(each, "__code__", None) for each in gc.callbacks}
    while frame is not None:
        if frame.f_globals.get("__name__") == "importlib._bootstrap" or frame.f_code in callbacks:
            return True
        frame = frame.f_back
    return False


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise ``TookTooLong`` in the Python code that runs inside after this many seconds, repeatedly.

    An alarm that was set before still goes off on time. Outside the main thread there is no limit. An import is
    never interrupted, which would leave half a module for the life of the process, nor is a callback of the garbage
    collector, out of which no exception comes. Time is measured by ``timing.now``.
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
            signal.setitimer(signal.ITIMER_REAL, max(seconds - now + started, _SHORTEST), _INTERVAL)
        elif not must_finish(frame):
            text, running = f"it did not return within {seconds:.2g} s", now - max(_Calls.began, started)
            raise TookTooLong(text, running, last_line(running_frames(frame)))

    before, differentiable = signal.signal(signal.SIGALRM, interrupt), torch.is_grad_enabled()
    left, interval = signal.setitimer(signal.ITIMER_REAL, max(seconds, _SHORTEST), _INTERVAL)
    try:
        yield
    except TookTooLong:  # perhaps at the end of a block without gradients, before they are put back on
        torch.set_grad_enabled(differentiable)
        raise
    finally:
        inside = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - (timing.now() - started), _SHORTEST), interval)


@contextmanager
def answered_within(seconds: float) -> Iterator[None]:
    """What is asked for inside is due in so many seconds; raises ``TookTooLong`` shortly before."""
    before, _Calls.due = _Calls.due, timing.now() + _PLANNED * seconds
    try:
        with time_limit(_LATEST * seconds):
            yield
    finally:
        _Calls.due = before


def seconds_left() -> float:
    """The seconds in which what is looked at now should be found: all budgets of time are shares of them."""
    return _PLANNED * _USUAL if math.isinf(_Calls.due) else max(_Calls.due - timing.now(), 0.0)


def finished_within(seconds: float, call: Callable[[], _T]) -> _T | None:
    """What a call returns, None if it takes longer than so many seconds; a limit around it holds all the same."""
    began = timing.now()
    try:
        with time_limit(seconds):
            return call()
    except TookTooLong:
        if timing.now() - began < seconds:
            raise
        return None
