"""The door: questions in, answers out, and behind it a worker process that may die but is always replaced."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from typing import Any

from .frames import Frame
from .life import LOADING, Life
from .loss import Lost, explained
from .process import WorkerProcess
from .question import Question

STARTS = 3  # workers in a row that may end while they load
PAUSE = 1.0  # seconds until a worker that could not be started is tried again
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


OUTCOMES = {BadQuestion: "refused", EngineBusy: "busy", EngineBroken: "broken", EngineFault: "fault"}


class Engine:
    """Holds one worker process. Everything is awaited in the one event loop that called ``connect``."""

    def __init__(self, process: WorkerProcess) -> None:
        self._deadline = process.deadline
        self._life = Life(process)
        self._hello: dict[str, Any] = {}
        self.broken = ""  # the sentence that says why there are no answers
        self._waiting = 0
        self._turn = asyncio.Lock()
        self._change = asyncio.Condition()  # of the worker that listens, or of `broken`
        self.outcomes: Counter[str] = Counter()  # of the questions
        self.restarts = 0

    @classmethod
    def spawn(cls, deadline: float = 10.0) -> Engine:
        """Start the worker; it loads torch while the caller goes on. ``deadline`` is seconds for one question."""
        return cls(WorkerProcess(deadline))

    async def connect(self) -> None:
        """Listen to the worker from now on."""
        self._living = asyncio.create_task(self._live())

    async def close(self) -> None:
        """End the worker and leave nothing behind."""
        self._living.cancel()
        with suppress(asyncio.CancelledError):
            await self._living
        await self._life.close()

    @property
    def ready(self) -> bool:
        """Whether a worker listens and has loaded its ops."""
        return self._life.listens and not self.broken

    @property
    def starting(self) -> bool:
        """Whether the ops are not known yet; later, while a worker is replaced, they are."""
        return not self._hello and not self.broken

    @property
    def waiting(self) -> int:
        """How many have asked, and are not answered yet."""
        return self._waiting

    @property
    def worker(self) -> int:
        """The number of the process that there is now."""
        return self._life.pid

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
        try:
            frame = await self._answered(question, gone)
        except tuple(OUTCOMES) as problem:
            self.outcomes[OUTCOMES[type(problem)]] += 1
            raise
        failure = frame.header["failure"]
        lost = failure is not None and failure["phase"] == "worker"
        self.outcomes["answered" if failure is None else "lost" if lost else "failed"] += 1
        return frame

    async def _answered(self, question: Question, gone: Callable[[], Awaitable[bool]] | None) -> Answer:
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

    async def _listening(self) -> Life:
        async with self._change:
            await self._change.wait_for(lambda: self._life.listens or self.broken)
        if self.broken:
            raise EngineBroken(self.broken)
        return self._life

    async def _exchange(self, asked: dict[str, Any]) -> Frame:
        frame = await (await self._listening()).ask(asked)
        if "fault" in frame.header:
            raise EngineFault(frame.header["fault"])
        return frame

    async def _live(self) -> None:
        """Attend to one worker after the other, until the ops are known to be broken."""
        try:
            starts = 0
            while not self.broken:
                ended = await self._attend(self._life)
                starts = 0 if self._life.greeted else starts + 1
                if starts == STARTS:
                    why = f"The worker process ended ({ended}) {STARTS} times while it was loading; see the log."
                    self.broken = self.broken or why
                if not self.broken:
                    await self._replace()
        except Exception as problem:
            logging.getLogger("uvicorn.error").exception("no worker is attended to any more")
            self.broken = (
                f"A fault of Gradloupe itself ({type(problem).__name__}: {problem}); see the log, and restart it."
            )
        await self._tell()

    async def _attend(self, life: Life) -> str:
        """Greet the worker, wait for its end, and say how that came."""
        try:
            hello = await life.begin()
        except Lost as lost:
            if lost.late:
                self.broken = f"The ops were not loaded after {LOADING:g} s; a file in ops/ may compute for ever."
        else:
            self.broken = hello.get("broken", "")
            if life.greeted:
                self._hello = {**hello, "catalogue": {op["name"]: op for op in hello["catalogue"]}}
            await self._tell()
        assert life.ended is not None
        return await life.ended

    async def _replace(self) -> None:
        """Start the next worker, as soon as the system lets us."""
        while True:
            try:
                self._life = Life(WorkerProcess(self._deadline))
                self.restarts += 1
            except OSError as problem:
                self.broken = f"No worker process can be started ({problem}); that is tried again every second."
                await self._tell()
                await asyncio.sleep(PAUSE)
            else:
                self.broken = ""
                return

    async def _tell(self) -> None:
        async with self._change:
            self._change.notify_all()
