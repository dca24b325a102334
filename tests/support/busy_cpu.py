"""A processor that many want: what computes has to wait for it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

OTHERS = 3
COMPUTES = "import os\nos.sched_setaffinity(0, {%d})\nprint(flush=True)\nwhile True: pass"


@contextmanager
def crowded(number: int = 0) -> Iterator[None]:
    """The process of that number, or this one, shares one processor with others that always compute."""
    before = os.sched_getaffinity(number)
    place = min(before)
    command = [sys.executable, "-c", COMPUTES % place]
    # In sessions of their own, for Linux shares a processor among sessions first.
    others = [subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) for _ in range(OTHERS)]
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
