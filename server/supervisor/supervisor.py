"""The supervisor: restarts the worker when it exits, and gives up after repeated failures to load its ops."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..protocol.errors import EngineBroken, EngineFault
from ..protocol.frames import Frame
from ..protocol.job import Job
from .connection import WorkerConnection
from .crash_report import WorkerLost, startup_crash
from .worker_process import WorkerProcess

MAX_FAILED_STARTS = 3  # workers in a row that may die while they load
RESTART_PAUSE = 1.0  # seconds before a restart, where a worker could not be started or died unasked
_FALLS = 3  # workers in a row that died before any question
CLOSED = "The worker that was asked has made room for a newer one, or the server is ending; ask again."


def _to_nobody(files: list[str], since: float) -> None:
    """The default of ``late``: does nothing."""


@dataclass
class EngineCounters:
    """Counters that outlive a worker, shared by engines one after the other; they never go back.

    ``outcomes`` of the questions, ``restarts`` of workers. ``late`` is called with the paths of user files that a
    worker read while it answered, and the time of that question.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    restarts: int = 0
    late: Callable[[list[str], float], None] = _to_nobody


class Supervisor:
    """The present worker, restarted when it exits.

    ``hello`` is the last greeting of a worker that could load its ops, ``greeting`` the last one; ``broken`` is the
    sentence that says why nothing can be answered.
    """

    def __init__(self, process: WorkerProcess, account: EngineCounters) -> None:
        self.work: Job = process.work
        self.life = WorkerConnection(process)
        self.hello: dict[str, Any] = {}
        self.greeting: dict[str, Any] = {}
        self.broken = ""
        self.account = account
        self._change = asyncio.Condition()  # notified when `life` or `broken` changes

    async def listening(self) -> WorkerConnection:
        """The connection, as soon as the worker is ready; raises ``EngineBroken`` when none will be."""
        async with self._change:
            await self._change.wait_for(lambda: self.life.listens or self.broken)
        if self.broken:
            raise EngineBroken(self.broken)
        return self.life

    async def ask(self, asked: dict[str, Any]) -> Frame:
        """The reply of the worker, once it is ready; raises ``EngineBroken``, ``EngineFault``, ``WorkerLost``."""
        life, since = await self.listening(), time.time()
        frame = await life.ask(asked)
        if late := frame.header.pop("read", None):
            self.account.late(late, since)
        if "fault" in frame.header:
            raise EngineFault(frame.header["fault"])
        return frame

    async def last(self) -> None:
        """Restart workers until the ops are known to be broken."""
        try:
            starts = falls = 0
            while not self.broken:
                lost = await self._attend(self.life)
                falls = 0 if self.life.asked else falls + 1
                starts = 0 if self.life.greeted else starts + 1
                if starts == MAX_FAILED_STARTS or (starts and self._is_to_blame(lost)):
                    self.broken = self.broken or self._unloaded(lost)
                if not self.broken:
                    await asyncio.sleep(RESTART_PAUSE if falls >= _FALLS else 0.0)
                    await self._replace()
        except Exception as problem:
            logging.getLogger("uvicorn.error").exception("no worker is attended to any more")
            self.broken = (
                f"A fault of Gradloupe itself ({type(problem).__name__}: {problem}); see the log, and restart it."
            )
        await self._tell()

    async def close(self) -> None:
        """End the present worker; callers that still wait get ``EngineBroken``."""
        await self.life.close()
        self.broken = self.broken or CLOSED
        await self._tell()

    async def _attend(self, life: WorkerConnection) -> WorkerLost:
        """Do the handshake, wait for the end of the worker, and return how it ended."""
        loss: WorkerLost | None = None
        try:
            hello = await life.begin()
        except WorkerLost as lost:
            loss = lost
            if lost.ours:
                self.broken = self._unloaded(lost)
        else:
            self.greeting = hello
            self.broken = hello.get("broken", "")
            if life.greeted:
                self.hello = {**hello, "catalogue": {op["name"]: op for op in hello["catalogue"]}}
            await self._tell()
        assert life.ended is not None
        ended = await asyncio.shield(life.ended)  # the process is reaped even if this task is cancelled
        return loss or WorkerLost(ended)

    async def _replace(self) -> None:
        """Start the next worker; retried every second where the system refuses."""
        while True:
            try:
                self.life = WorkerConnection(WorkerProcess(self.work))
                self.account.restarts += 1
            except OSError as problem:
                self.broken = f"No worker process can be started ({problem}); that is tried again every second."
                await self._tell()
                await asyncio.sleep(RESTART_PAUSE)
            else:
                self.broken = ""
                return

    async def _tell(self) -> None:
        async with self._change:
            self._change.notify_all()

    def _is_to_blame(self, lost: WorkerLost) -> bool:
        """Whether the user's file has ended the worker while it was loaded, and would do so again."""
        return bool(self.work.targets and self.life.pid and lost.kind != "SIGKILL")

    def _unloaded(self, lost: WorkerLost) -> str:
        self.greeting = startup_crash(lost, self.work)
        broken: str = self.greeting["broken"]
        return broken
