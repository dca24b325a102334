"""One worker's life as the server sees it: it greets, answers one question after the other, and ends."""

from __future__ import annotations

import asyncio
from typing import Any

from .channel import Channel
from .frames import BadFrame, Frame, pack
from .loss import Lost
from .process import WorkerProcess

LOADING = 120.0  # seconds for `import torch` and the ops, on a cold disk


class Life:
    """The life of one process; only one question may be under way at a time."""

    def __init__(self, process: WorkerProcess) -> None:
        self._process = process
        self._reply: asyncio.Future[Frame] | None = None
        self._transport: asyncio.Transport | None = None
        self._killed = False
        self.ended: asyncio.Task[str] | None = None  # done when the process is gone, and says how it went
        self.greeted = False

    @property
    def listens(self) -> bool:
        """Whether it has greeted, and nothing is known of its end."""
        return self.greeted and not self._killed and self._transport is not None and not self._transport.is_closing()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    async def begin(self) -> dict[str, Any]:
        """Connect, and return the greeting; raises ``Lost``."""
        reply = self._expect()
        self._transport, channel = await asyncio.get_running_loop().create_unix_connection(
            lambda: Channel(self._hear), sock=self._process.channel
        )
        self.ended = asyncio.create_task(self._end(self._transport, channel))
        hello = (await self._within(LOADING, reply)).header
        self.greeted = "broken" not in hello
        return hello

    async def ask(self, asked: dict[str, Any]) -> Frame:
        """The answer; raises ``Lost``. One that is too late, or is not waited for, ends the process."""
        assert self._transport is not None
        reply = self._expect()
        self._transport.write(pack(Frame(asked)))
        return await self._within(self._process.deadline, reply)

    async def close(self) -> None:
        """End the process now."""
        if self._transport is not None and self.ended is not None:
            self.ended.cancel()
            self._transport.close()
        self._process.kill()
        self._process.reap()

    def _expect(self) -> asyncio.Future[Frame]:
        self._reply = asyncio.get_running_loop().create_future()
        return self._reply

    async def _within(self, seconds: float, reply: asyncio.Future[Frame]) -> Frame:
        assert self.ended is not None
        either: set[asyncio.Future[Any]] = {reply, self.ended}
        try:
            await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not (reply.done() or self.ended.done()):  # a late answer must not be taken for that of the next question
                self._killed = True
                self._process.kill()
        if reply.done():
            return reply.result()
        if self.ended.done():
            raise Lost(self.ended.result())
        raise Lost(f"no answer after {seconds:g} s", late=True)

    async def _end(self, transport: asyncio.Transport, channel: Channel) -> str:
        await channel.closed
        transport.close()
        return await asyncio.to_thread(self._process.reap)

    def _hear(self, frame: Frame) -> None:
        if self._reply is None or self._reply.done():
            raise BadFrame("nobody has asked for that")
        self._reply.set_result(frame)
