"""Client of the rasterizer process, which is started with the first picture and restarted when it has ended."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE, Process
from contextlib import suppress

from ..protocol.errors import EngineBusy, EngineFault
from ..protocol.python_command import python_command
from .process import LENGTH_PREFIX, PDF, PNG

LONGEST_QUEUE = 8  # pictures in the queue at most; the largest take a second each
_DEADLINE = 10.0  # seconds for one picture
_TRIES = 2


class Rasterizer:
    """Makes PNG and PDF of SVG in one child process. To be used in one event loop."""

    def __init__(self, deadline: float = _DEADLINE) -> None:
        self.deadline = deadline
        self._child: Process | None = None
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._pending: dict[bytes, asyncio.Task[bytes]] = {}

    async def png(self, svg: str) -> bytes:
        """The pixels of a picture, drawn once for all who ask for it at the same time.

        Raises ``EngineBusy`` when too many wait, or this one takes too long, and ``EngineFault`` where it cannot be
        drawn.
        """
        return await self._once(PNG + svg.encode())

    async def pdf(self, svg: str) -> bytes:
        """The picture as a document of one page; the same holds for it as for ``png``."""
        return await self._once(PDF + svg.encode())

    async def _once(self, order: bytes) -> bytes:
        if order not in self._pending:
            task = self._pending[order] = asyncio.create_task(self._queued(order))
            task.add_done_callback(lambda done: self._pending.pop(order) and (done.cancelled() or done.exception()))
        return await asyncio.shield(self._pending[order])

    async def _queued(self, order: bytes) -> bytes:
        if self._waiting >= LONGEST_QUEUE:
            raise EngineBusy
        self._waiting += 1
        try:
            async with self._turn:
                return await self._drawn(order)
        except asyncio.CancelledError:  # the server is ending, and its time to finish is over
            raise EngineBusy from None
        finally:
            self._waiting -= 1

    async def close(self) -> None:
        """End the process now."""
        child, self._child = self._child, None
        if child is not None:
            with suppress(ProcessLookupError):
                child.kill()
            await child.wait()

    async def _drawn(self, order: bytes) -> bytes:
        for _ in range(_TRIES):
            try:
                async with asyncio.timeout(self.deadline):
                    picture = await self._exchange(order)
            except TimeoutError:
                raise EngineBusy(f"The picture was not drawn within {self.deadline:g} s; ask again.") from None
            except (OSError, asyncio.IncompleteReadError):  # the process has ended, perhaps not because of this picture
                continue
            if picture:
                return picture
            raise EngineFault("a picture could not be drawn")
        raise EngineFault(f"the process that draws pictures ended {_TRIES} times")

    async def _exchange(self, order: bytes) -> bytes:
        if self._child is None or self._child.returncode is not None:
            self._child = await _start()
        incoming, outgoing = self._child.stdout, self._child.stdin
        assert incoming is not None
        assert outgoing is not None
        try:
            outgoing.write(LENGTH_PREFIX.pack(len(order)) + order)
            await outgoing.drain()
            (length,) = LENGTH_PREFIX.unpack(await incoming.readexactly(LENGTH_PREFIX.size))
            return await incoming.readexactly(length)
        except BaseException:  # a late reply must not be taken for that of the next picture
            await self.close()
            raise


async def _start() -> Process:
    # In a session of its own, so that Ctrl-C in the terminal reaches only the server.
    command = python_command("png.process")
    try:
        return await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, start_new_session=True)
    except OSError as problem:
        raise EngineBusy(f"No process that draws pictures can be started ({problem}); ask again.") from None
