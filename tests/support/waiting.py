import os
import time
from collections.abc import Callable
from pathlib import Path
from select import select
from typing import IO, TypeVar

SECONDS = 60.0
PAUSE = 0.02
T = TypeVar("T")


def until(look: Callable[[], T], seconds: float = SECONDS) -> T:
    """What is seen as soon as it counts as true, else what is seen when the time is over; others compute meanwhile."""
    end = time.monotonic() + seconds
    while not (seen := look()) and time.monotonic() < end:
        time.sleep(PAUSE)
    return seen


def first_line(stream: IO[str]) -> str:
    """The first line that a process writes, or an empty one if it writes none in time."""
    return stream.readline() if select([stream], [], [], SECONDS)[0] else ""


def written_into(pipe: Path) -> str:
    """All that the first one writes who opens this named pipe."""
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(reading) as text:
        assert select([text], [], [], SECONDS)[0], f"nobody has opened {pipe.name}"
        os.set_blocking(reading, True)
        return text.read()
