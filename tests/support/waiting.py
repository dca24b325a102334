"""Waiting in a test until something is there."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

SECONDS = 60.0
PAUSE = 0.02
T = TypeVar("T")


def until(look: Callable[[], T], seconds: float = SECONDS) -> T:
    """What is seen as soon as it counts as true, else what is seen when the time is over; others compute meanwhile."""
    end = time.monotonic() + seconds
    while not (seen := look()) and time.monotonic() < end:
        time.sleep(PAUSE)
    return seen
