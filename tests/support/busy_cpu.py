"""A processor that many want, or that is slow: what computes takes longer than it would."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

OTHERS = 3
RUNS = 2e-3  # seconds
COMPUTES = "import os\nos.sched_setaffinity(0, {%d})\nprint(flush=True)\nwhile True: pass"


@contextmanager
def on_one_processor() -> Iterator[None]:
    """This process, and those that it starts, have one processor."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def crowded(number: int = 0, by: int = OTHERS) -> Iterator[None]:
    """The process of that number, or this one, shares one processor with others that always compute."""
    before = os.sched_getaffinity(number)
    place = min(before)
    command = [sys.executable, "-c", COMPUTES % place]
    # In sessions of their own, for Linux shares a processor among sessions first.
    others = [subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) for _ in range(by)]
    try:
        for each in others:
            assert each.stdout is not None
            each.stdout.readline()
        os.sched_setaffinity(number, {place})
        yield
    finally:
        with suppress(ProcessLookupError):
            os.sched_setaffinity(number, before)
        for each in others:
            each.kill()
            each.communicate()


@contextmanager
def slowed(number: int) -> Iterator[None]:
    """The process of that number runs for half of the time, as if its machine were half as fast."""
    ended = Event()

    def hold() -> None:
        while not ended.wait(RUNS):
            os.kill(number, signal.SIGSTOP)
            ended.wait(RUNS)
            os.kill(number, signal.SIGCONT)

    thread = Thread(target=hold, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
