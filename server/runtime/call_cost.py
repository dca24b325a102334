"""The cost of a call, counted instead of timed, so that every machine, idle or busy, plans the same."""

from __future__ import annotations

import importlib._bootstrap as _bootstrap
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from ..protocol.stack_dump import last_line, running_frames
from .timeouts import UNINTERRUPTED, TookTooLong, must_finish
from .timing import minimum_time, time_of

# budget: what each function that a call calls, of Python or of C, is taken to cost. On a slow core the Functions of the
# gallery took 1.3 to 5.3 µs for each, half of them less than 2.3 µs.
_SECONDS_PER_FUNCTION = 2.5e-6
# pattern: a call that takes this many times as long does what is not counted: it sleeps, reads, or has large tensors.
_OUT_OF_PROPORTION = 4.0
SLOW = 0.25  # budget: a call of so many seconds is slow: it is timed once, nothing is counted, and little is asked for


def estimated_seconds(call: Callable[[], object]) -> float:
    """The seconds that a call takes on an ordinary core; raises what it raises.

    Counted are the functions that it calls. Only a call that takes far longer than those explain is timed, and its
    time rounded up to a power of two.
    """
    first = time_of(call)  # what is imported or cached then is not counted
    if first > SLOW:
        return rounded_seconds(min(first, time_of(call)), 0.0)
    counted = _SECONDS_PER_FUNCTION * count_functions(call)
    return rounded_seconds(minimum_time(call, _OUT_OF_PROPORTION * counted), counted)


def count_functions(call: Callable[[], object]) -> int:
    """How many functions of Python and C a call calls on this thread, deterministic where the call is.

    0 under a profiler in C, such as cProfile before Python 3.12, which could not be put back.
    """
    before = sys.getprofile()
    if before is not None and not callable(before):
        return 0
    count = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(before)
    return count


class TooManySteps(TookTooLong):
    """Raised inside a Function that runs more lines than it may."""


_IMPORT = _bootstrap._find_and_load.__code__  # type: ignore[attr-defined]


@dataclass
class Steps:
    """How many lines of Python were ``taken``."""

    taken: int = 0


@contextmanager
def step_limit(most: int, but: str = "\0") -> Iterator[Steps]:
    """Count the lines of Python that are run inside, on this thread; raise ``TooManySteps`` there after so many.

    Imports do not count, which are made once, nor does the code of files whose paths begin with ``but``. At once where
    another tracer is at work, as a debugger's, which is left alone.
    """
    if sys.gettrace() is not None:
        raise TooManySteps("another tracer is at work")
    steps, imports = Steps(), 0

    def trace(frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        nonlocal imports
        if frame.f_code is _IMPORT:
            imports += (event == "call") - (event == "return")
            return trace
        if imports or frame.f_code.co_filename.startswith(but):
            return None
        steps.taken += 1
        if steps.taken > most and event == "line" and not must_finish(frame):
            place = last_line(running_frames(frame))
            raise TooManySteps("it did not return within the lines of Python that it may run", place=place)
        return trace

    UNINTERRUPTED.add(trace.__code__)
    sys.settrace(trace)
    try:
        yield steps
    finally:
        sys.settrace(None)


def rounded_seconds(measured: float, counted: float) -> float:
    """What is counted, unless a call takes far longer than that explains: then its time, up to a power of two."""
    return counted if measured <= _OUT_OF_PROPORTION * counted else 2.0 ** math.ceil(math.log2(measured))
