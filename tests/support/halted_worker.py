"""A server whose worker stands still, so that all who ask have to wait."""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from gradloupe.server.supervisor.engine import QUEUE_SIZE

from .raw_http import connected, send
from .servers import Server
from .waiting import until


@contextmanager
def halted(server: Server) -> Iterator[None]:
    """Its workers do nothing meanwhile."""
    workers = server.workers()
    for worker in workers:
        os.kill(worker, signal.SIGSTOP)
    try:
        yield
    finally:
        for worker in workers:
            with suppress(ProcessLookupError):  # ended, for nobody waits for it any more
                os.kill(worker, signal.SIGCONT)


@contextmanager
def crowded(server: Server, name: str) -> Iterator[None]:
    """They do nothing, and as many questions of this op wait as may."""
    with ExitStack() as stack:
        stack.enter_context(halted(server))
        for number in range(QUEUE_SIZE):
            send(stack.enter_context(connected(server)), f"/ops/{name}.json?count=5&grad_output={number + 2}")
        wait_for(server, QUEUE_SIZE)
        yield


def metric(server: Server, name: str) -> float:
    """One of its numbers."""
    found = re.search(rf"^gradloupe_{re.escape(name)} (\S+)$", server.get("/metrics").text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def wait_for(server: Server, questions: int) -> None:
    """Return when so many questions wait."""
    assert until(lambda: metric(server, "waiting") >= questions)
