"""An engine for a file of a visitor's, in this process."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from gradloupe.server.protocol.job import Job
from gradloupe.server.protocol.question import Question
from gradloupe.server.supervisor.engine import Engine
from gradloupe.server.url.address import default_address
from support.servers import children


@asynccontextmanager
async def engine_of(*targets: Path, **limits: Any) -> AsyncIterator[Engine]:
    """The engine whose workers import these files; with none, that of the gallery."""
    engine = Engine.spawn(Job(targets=tuple(map(str, targets)), **limits))
    await engine.connect()
    try:
        yield engine
    finally:
        await engine.close()


async def question_of(engine: Engine, name: str, **changes: Any) -> Question:
    """What the page of an op asks first, with these changes."""
    return replace(default_address(await engine.op(name)).question, **changes)


def kill_forkservers() -> None:
    """End what the workers of this process are copies of."""
    for forkserver in children(os.getpid(), "worker.forkserver"):
        os.kill(forkserver, signal.SIGKILL)
