"""One worker's life as the server sees it: it greets, answers one question after the other, and ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from ..protocol.frames import PREFIX, BadFrame, Frame, lengths, pack, unpack
from ..protocol.job import BUSY
from ..protocol.stack_dump import Fault
from .crash_report import COPIES, Limit, Lost
from .memory import takes_more
from .worker_process import WorkerProcess


class Channel(asyncio.Protocol):
    """Calls ``hear`` with every frame. ``closed`` is done when the other end is gone, or sent what is no frame."""

    def __init__(self, hear: Callable[[Frame], None]) -> None:
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._hear = hear
        self._bytes = bytearray()

    def data_received(self, data: bytes) -> None:
        self._bytes += data
        while len(self._bytes) >= PREFIX.size:
            header, payload = lengths(bytes(self._bytes[: PREFIX.size]))
            middle, end = PREFIX.size + header, PREFIX.size + header + payload
            if len(self._bytes) < end:
                return
            frame = unpack(bytes(self._bytes[PREFIX.size : middle]), bytes(self._bytes[middle:end]))
            del self._bytes[:end]
            self._hear(frame)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)


PULSE = 0.1  # seconds between two looks at the memory of a worker that computes
_PATIENCE, _LOOK = 2.0, 0.02  # seconds for a worker to say where it is, and between two looks whether it has
UNBORN = 120.0  # seconds for `import torch` on a cold disk


class Life:
    """The life of one process; only one question may be under way at a time."""

    def __init__(self, process: WorkerProcess) -> None:
        self._process = process
        self._reply: asyncio.Future[Frame] | None = None
        self._transport: asyncio.Transport | None = None
        self._killed = False
        self.ended: asyncio.Task[str] | None = None  # done when the process is gone, and says how it went
        self.greeted = False
        self.asked = False

    @property
    def listens(self) -> bool:
        """Whether it has greeted, and nothing is known of its end."""
        return self.greeted and not self._killed and self._transport is not None and not self._transport.is_closing()

    @property
    def pid(self) -> int:
        """The number of the process, 0 as long as it is not known."""
        return self._process.pid

    async def begin(self) -> dict[str, Any]:
        """Connect, and return the greeting; raises ``Lost``."""
        reply = self._expect()
        self._transport, channel = await asyncio.get_running_loop().create_unix_connection(
            lambda: Channel(self._hear), sock=self._process.channel
        )
        self.ended = asyncio.create_task(self._end(self._transport, channel))
        loading = self._process.work.loading
        await self._born({reply, self.ended}, max(loading, UNBORN))
        left = loading if self.pid else 0.0
        hello = (await self._within(left, f"time of {loading:g} s to load (--loading)", reply)).header
        self.greeted = "broken" not in hello
        return hello

    async def ask(self, asked: dict[str, Any]) -> Frame:
        """The answer; raises ``Lost``. One that is too late, or is not waited for, ends the process."""
        assert self._transport is not None
        self.asked = True
        reply = self._expect()
        self._transport.write(pack(Frame(asked)))
        deadline = self._process.deadline
        return await self._within(deadline, f"deadline of {deadline:g} s (--deadline)", reply)

    async def close(self) -> None:
        """End the process: now, or where it has nothing to do, in the moment that it takes to tidy up."""
        if self._reply is None or not self._reply.done():
            self._process.kill()
        if self._transport is None or self.ended is None:
            await asyncio.to_thread(self._process.reap)
        else:
            self._transport.close()
            await asyncio.shield(self.ended)

    async def _born(self, either: set[asyncio.Future[Any]], seconds: float) -> None:
        """Wait until the process is there: where torch is loaded first, that is nobody's fault."""
        now = asyncio.get_running_loop().time
        until = now() + seconds
        while not self.pid and not any(each.done() for each in either) and now() < until:
            await asyncio.wait(either, timeout=_LOOK, return_when=asyncio.FIRST_COMPLETED)

    def _expect(self) -> asyncio.Future[Frame]:
        self._reply = asyncio.get_running_loop().create_future()
        return self._reply

    async def _within(self, seconds: float, called: str, reply: asyncio.Future[Frame]) -> Frame:
        """The reply; raises ``Lost`` where the worker ends before, or is ended at a limit."""
        assert self.ended is not None
        either: set[asyncio.Future[Any]] = {reply, self.ended}
        try:
            limit = await self._met(either, Limit("Timeout", called), seconds)
            if limit is not None:
                await self._locate(either)
        finally:
            if not (reply.done() or self.ended.done()):  # a late answer must not be taken for that of the next question
                self._killed = True
                self._process.kill()
        if reply.done():
            return reply.result()
        if self.ended.done():
            limit = COPIES if self._process.copied else limit
            raise Lost(self.ended.result(), limit, self._process.faults())
        raise Lost("signal 9, SIGKILL", limit, self._process.faults())

    async def _met(self, either: set[asyncio.Future[Any]], time: Limit, seconds: float) -> Limit | None:
        """The limit that is met before anything of this happens: that of time, or that of memory.

        For as long as the worker has to wait for a processor it is given more time, within bounds.
        """
        now, most = asyncio.get_running_loop().time, self._process.work.memory
        began, before = now(), self._process.waited()
        while (left := began + min(seconds + self._process.waited() - before, BUSY * seconds) - now()) > 0:
            pulse = min(left, PULSE) if most else left
            done, _ = await asyncio.wait(either, timeout=pulse, return_when=asyncio.FIRST_COMPLETED)
            if done:
                return None
            if most and await self._takes_more(most, either, left):
                return Limit("Memory", f"memory limit of {most} MiB (--memory)")
        return None if any(each.done() for each in either) else time

    async def _takes_more(self, most: int, either: set[asyncio.Future[Any]], seconds: float) -> bool:
        """Whether it is known to take more MiB than that, before anything of this happens or the time is over."""
        look = asyncio.create_task(asyncio.to_thread(takes_more, self._process.pid, most))
        # It is asked of every process below it, which takes seconds where there are thousands.
        await asyncio.wait({look, *either}, timeout=max(seconds, 0.0), return_when=asyncio.FIRST_COMPLETED)
        return look.done() and look.result()

    async def _locate(self, either: set[asyncio.Future[Any]]) -> None:
        """Wait until the worker has written where it is, as long as that may take."""
        self._process.locate()
        before: tuple[Fault, ...] = ()
        now = asyncio.get_running_loop().time
        until = now() + _PATIENCE
        while now() < until:
            done, _ = await asyncio.wait(either, timeout=_LOOK, return_when=asyncio.FIRST_COMPLETED)
            found = self._process.faults()
            if done or (found and found == before):
                return
            before = found

    async def _end(self, transport: asyncio.Transport, channel: Channel) -> str:
        await channel.closed
        transport.close()
        return await asyncio.to_thread(self._process.reap)

    def _hear(self, frame: Frame) -> None:
        if self._reply is None or self._reply.done():
            raise BadFrame("nobody has asked for that")
        self._reply.set_result(frame)
