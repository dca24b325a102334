"""The supervisor: restarts the worker when it exits, and gives up after repeated failures to load its ops."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from ..protocol.errors import EngineBroken, EngineFault
from ..protocol.frames import Frame
from ..protocol.job import Job
from ..protocol.messages import Greeting, HelloMessage, RefusedMessage, WorkerRequest, WorkerResult
from ..schema.op import OpStub
from .connection import WorkerConnection
from .crash_report import GpuLost, WorkerLost, startup_crash
from .worker_process import WorkerProcess

_LOG = logging.getLogger("gradloupe")
MAX_FAILED_STARTS = 3  # workers in a row that may die while they load
RESTART_PAUSE = 1.0  # seconds before a restart, where a worker could not be started or died unasked
_MAX_IDLE_DEATHS = 3  # workers in a row that died before any question
CLOSED = "The worker that was asked has made room for a newer one, or the server is ending; ask again."


@dataclass
class EngineCounters:
    """Counters that outlive a worker, shared by engines one after the other; they never go back.

    ``outcomes`` of the questions, ``restarts`` of workers. ``late`` is called with the paths of user files that a
    worker read while it answered, and the time of that question.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    restarts: int = 0
    late: Callable[[list[str], float], None] = lambda files, since: None


class Supervisor:
    """The present worker, restarted when it exits.

    ``last_greeting`` is that of the last worker, ``last_hello`` that of the last one that could load its ops, and
    ``catalogue`` has those by name. ``broken`` is the sentence that says why nothing can be answered.
    """

    def __init__(self, process: WorkerProcess, counters: EngineCounters) -> None:
        self.job: Job = process.job
        self.connection = WorkerConnection(process)
        self.last_hello: HelloMessage | None = None
        self.last_greeting: Greeting | None = None
        self.catalogue: dict[str, OpStub] = {}
        self.broken = ""
        self.counters = counters
        self._change = asyncio.Condition()  # notified when `connection` or `broken` changes

    async def listening(self) -> WorkerConnection:
        """The connection, as soon as the worker is ready; raises ``EngineBroken`` when none will be."""
        async with self._change:
            await self._change.wait_for(lambda: self.connection.listens or self.broken)
        if self.broken:
            raise EngineBroken(self.broken)
        return self.connection

    async def ask(self, request: WorkerRequest) -> Frame[WorkerResult | RefusedMessage]:
        """The reply of the worker, once it is ready; raises ``EngineBroken``, ``EngineFault``, ``WorkerLost``.

        After a fault a worker with user code in it is ended: that code may have spoiled it for all.
        """
        connection, since = await self.listening(), time.time()
        frame = await connection.ask(request)
        reply = frame.header
        if reply["kind"] == "lost gpu":
            assert connection.ended is not None
            raise GpuLost(await asyncio.shield(connection.ended), reply["sentence"])
        if reply["kind"] == "fault":
            if self.job.targets:
                await connection.close()
            raise EngineFault(reply["sentence"])
        if reply["kind"] != "refused" and reply["read"]:
            self.counters.late(reply["read"], since)
        return Frame(reply, frame.columns, frame.header_bytes)

    async def supervise(self) -> None:
        """Restart workers until the ops are known to be broken."""
        try:
            failed_starts = idle_deaths = 0
            while not self.broken:
                lost = await self._run_until_it_ends(self.connection)
                self._log(lost)
                idle_deaths = 0 if self.connection.asked else idle_deaths + 1
                failed_starts = 0 if self.connection.greeted else failed_starts + 1
                if failed_starts == MAX_FAILED_STARTS or (failed_starts and self._is_users_fault(lost)):
                    self.broken = self.broken or self._startup_failure(lost)
                if not self.broken:
                    await asyncio.sleep(RESTART_PAUSE if idle_deaths >= _MAX_IDLE_DEATHS else 0.0)
                    await self._replace()
        except Exception as problem:
            logging.getLogger("uvicorn.error").exception("no worker is attended to any more")
            self.broken = (
                f"A fault of Gradloupe itself ({type(problem).__name__}: {problem}); see the log, and restart it."
            )
        await self._notify()

    async def close(self) -> None:
        """End the present worker; callers that still wait get ``EngineBroken``."""
        await self.connection.close()
        self.broken = self.broken or CLOSED
        await self._notify()

    async def _run_until_it_ends(self, connection: WorkerConnection) -> WorkerLost:
        """Do the handshake, wait for the end of the worker, and return how it ended."""
        try:
            greeting = await connection.begin()
        except WorkerLost as lost:
            if lost.at_limit:
                self.broken = self._startup_failure(lost)
        else:
            self.last_greeting = greeting
            self.broken = greeting["sentence"] if greeting["kind"] == "broken" else ""
            if greeting["kind"] == "hello":
                self.last_hello, self.catalogue = greeting, {op["name"]: op for op in greeting["catalogue"]}
            await self._notify()
        assert connection.ended is not None
        await asyncio.shield(connection.ended)  # the process is reaped even if this task is cancelled
        return connection.loss()

    async def _replace(self) -> None:
        """Start the next worker; retried every second where the system refuses."""
        while True:
            try:
                self.connection = WorkerConnection(WorkerProcess(self.job))
                self.counters.restarts += 1
            except OSError as problem:
                self.broken = f"No worker process can be started ({problem}); that is tried again every second."
                await self._notify()
                await asyncio.sleep(RESTART_PAUSE)
            else:
                self.broken = ""
                return

    def _log(self, lost: WorkerLost) -> None:
        """Log how the present worker has ended, where no report, no load error and no caller that has gone says so."""
        if self.job.report or self.connection.dropped or (self.job.foreign and not self.connection.greeted):
            return
        op, seconds = self.connection.asked, round(self.connection.seconds, 1)
        since = f"it was asked for {op}" if op else "it was started"
        _LOG.warning(
            "The worker process %s, %s s after %s.",
            *(lost, seconds, since),
            extra={"op": op, "ended": lost.ended, "seconds": seconds},
        )

    async def _notify(self) -> None:
        async with self._change:
            self._change.notify_all()

    def _is_users_fault(self, lost: WorkerLost) -> bool:
        """Whether the user's file has ended the worker while it was loaded, and would do so again."""
        return bool(self.job.foreign and self.connection.pid and lost.kind != "SIGKILL")

    def _startup_failure(self, lost: WorkerLost) -> str:
        self.last_greeting = crash = startup_crash(lost, self.job)
        return crash["sentence"]
