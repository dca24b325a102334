"""The door: questions in, answers out, and behind it a worker process that may die but is always replaced."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from typing import Any

from .channel import Channel
from .frames import BadFrame, Frame, pack
from .loss import Lost, explained
from .process import WorkerProcess
from .question import Question

LOADING = 120.0  # seconds for `import torch` and the ops, on a cold disk
STARTS = 3  # workers in a row that may end while they load
QUEUE = 64

Answer = Frame
Catalogue = dict[str, dict[str, Any]]


class BadQuestion(Exception):
    """The op cannot be asked that; the message says why and what can be asked."""


class EngineBusy(Exception):
    """More questions wait than can be answered in time."""


class EngineBroken(Exception):
    """The ops cannot be loaded; the message says which and why."""


class EngineFault(Exception):
    """A fault of Gradloupe itself, in the worker, whose log has the traceback."""


class Engine:
    """Holds one worker process. Everything is awaited in the one event loop that called ``connect``."""

    def __init__(self, process: WorkerProcess) -> None:
        self._process = process
        self._hello: dict[str, Any] = {}
        self.broken = ""  # the sentence that says why there will be no answers
        self._waiting = 0
        self._turn = asyncio.Lock()
        self._settled = asyncio.Event()
        self._reply: asyncio.Future[Frame] | None = None

    @classmethod
    def spawn(cls, deadline: float = 10.0) -> Engine:
        """Start the worker; it loads torch while the caller goes on. ``deadline`` is seconds for one question."""
        return cls(WorkerProcess(deadline))

    async def connect(self) -> None:
        """Listen to the worker from now on."""
        self._life = asyncio.create_task(self._live())

    async def close(self) -> None:
        """End the worker and leave nothing behind."""
        self._life.cancel()
        with suppress(asyncio.CancelledError):
            await self._life
        self._process.kill()
        self._process.reap()

    @property
    def ready(self) -> bool:
        """Whether a worker listens and has loaded its ops."""
        return self._settled.is_set() and not self.broken

    @property
    def starting(self) -> bool:
        """Whether the ops are not known yet; later, while a worker is replaced, they are."""
        return not self._hello and not self.broken

    async def wait_ready(self) -> None:
        """Return when a worker listens; raises ``EngineBroken`` when none will, ``EngineBusy`` when too many wait."""
        async with self._place():
            await self._listening()

    async def catalogue(self) -> Catalogue:
        """What there is to ask about, by op name."""
        await self._known()
        catalogue: Catalogue = self._hello["catalogue"]
        return catalogue

    async def device(self) -> dict[str, Any]:
        """The devices of this machine and the release of torch."""
        await self._known()
        device: dict[str, Any] = self._hello["device"]
        return device

    async def answer(self, question: Question, gone: Callable[[], Awaitable[bool]] | None = None) -> Answer:
        """The section asked for, or the explanation that the worker did not survive the question.

        ``gone`` is asked, if the question had to wait, whether its client has left. Raises ``BadQuestion``,
        ``EngineBusy``, ``EngineBroken`` and ``EngineFault``.
        """
        asked = asdict(question)
        async with self._place():
            waited = self._turn.locked()
            async with self._turn:
                if waited and gone is not None and await gone():
                    raise EngineBusy
                try:
                    frame = await self._exchange(asked)
                except Lost as lost:
                    frame = await self._again(asked, lost, question)
        if "bad" in frame.header:
            raise BadQuestion(frame.header["bad"])
        return frame

    async def _again(self, asked: dict[str, Any], lost: Lost, question: Question) -> Frame:
        # To ask twice changes nothing, and the worker may have been ended by something else. A deadline is ours.
        if not lost.late:
            try:
                return await self._exchange(asked)
            except Lost as again:
                lost = again
        return explained(lost, question, (await self.catalogue())[question.op], await self.device())

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        if self._waiting >= QUEUE:
            raise EngineBusy
        self._waiting += 1
        try:
            yield
        except asyncio.CancelledError:  # the server is ending, and its time to finish is over
            raise EngineBusy from None
        finally:
            self._waiting -= 1

    async def _known(self) -> None:
        if self.broken or not self._hello:
            await self.wait_ready()

    async def _listening(self) -> None:
        await self._settled.wait()
        if self.broken:
            raise EngineBroken(self.broken)

    async def _exchange(self, asked: dict[str, Any]) -> Frame:
        await self._listening()
        process, self._reply = self._process, asyncio.get_running_loop().create_future()
        self._transport.write(pack(Frame(asked)))
        try:
            async with asyncio.timeout(process.deadline):
                frame = await self._reply
        except (TimeoutError, asyncio.CancelledError) as end:
            # The late answer must not be taken for that of the next question.
            self._settled.clear()
            process.kill()
            if isinstance(end, TimeoutError):
                raise Lost(f"no answer after {process.deadline:g} s", late=True) from None
            raise
        if "fault" in frame.header:
            raise EngineFault(frame.header["fault"])
        return frame

    async def _live(self) -> None:
        """Listen to the worker; when it has ended, say so to the one who waits, and start another."""
        starts = 0
        while not self.broken:
            starts += 1
            await self._listen()
            starts = 0 if self._settled.is_set() else starts
            self._settled.clear()
            ended = await asyncio.to_thread(self._process.reap)
            if self._reply is not None and not self._reply.done():
                self._reply.set_exception(Lost(ended))
            if starts == STARTS:
                self.broken = f"The worker process ended ({ended}) {STARTS} times while it was loading; see the log."
            if not self.broken:
                self._process = WorkerProcess(self._process.deadline)
        self._settled.set()

    async def _listen(self) -> None:
        hello = self._reply = asyncio.get_running_loop().create_future()
        self._transport, channel = await asyncio.get_running_loop().create_unix_connection(
            lambda: Channel(self._hear), sock=self._process.channel
        )
        try:
            await asyncio.wait([hello, channel.closed], timeout=LOADING, return_when=asyncio.FIRST_COMPLETED)
            if hello.done():
                self._greet(hello.result().header)
            elif not channel.closed.done():
                self.broken = f"The ops were not loaded after {LOADING:g} s; a file in ops/ may compute for ever."
                self._process.kill()
            hello.cancel()
            await channel.closed
        finally:
            self._transport.close()

    def _greet(self, hello: dict[str, Any]) -> None:
        self.broken = hello.get("broken", "")
        if not self.broken:
            self._hello = {**hello, "catalogue": {op["name"]: op for op in hello["catalogue"]}}
            self._settled.set()

    def _hear(self, frame: Frame) -> None:
        if self._reply is None or self._reply.done():
            raise BadFrame("nobody has asked for that")
        self._reply.set_result(frame)
