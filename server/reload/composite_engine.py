"""The engine of a server with user code: the user's own Functions, which are reloaded, and the gallery."""

import asyncio
import logging
from collections import Counter

from ..protocol.answer import Answer
from ..protocol.errors import UnknownOp
from ..protocol.job import Job
from ..protocol.question import Question
from ..schema.op import DeviceSummary, OpDescription, OpStub
from ..supervisor.engine import RESTART_PAUSE, Catalogue, Engine
from ..supervisor.single_flight import IsDisconnected
from ..supervisor.worker_process import WorkerProcess
from .reloader import Reloader

_LOG = logging.getLogger("gradloupe")


class CompositeEngine:
    """Has the methods of ``Engine``, where they are described, and passes each call on to the engine that has the op.

    The gallery is loaded once the user's own Functions are, or as soon as a page needs it.
    """

    def __init__(self, own: Reloader, gallery: Job) -> None:
        self.own = own
        self._job = gallery
        self._gallery: Engine | None = None
        self._gallery_wanted = asyncio.Event()
        self._gallery_connected = asyncio.Event()  # set once the engine of the gallery is connected

    async def connect(self) -> None:
        await self.own.connect()
        self._tasks = [asyncio.create_task(each) for each in (self._after_first_load(), self._start_gallery())]
        for each in self._tasks:
            each.add_done_callback(_log_failure)

    async def close(self) -> None:
        for each in self._tasks:
            each.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.own.close()
        if self._gallery is not None:
            await self._gallery.close()

    @property
    def ready(self) -> bool:
        """Whether a worker is ready that has loaded the user's own Functions."""
        return self.own.engine.ready

    @property
    def starting(self) -> bool:
        """Whether the user's own Functions are still being loaded for the first time."""
        return self.own.engine.starting

    @property
    def shows_gallery(self) -> bool:
        """Whether the gallery can be shown, whatever the state of the user's own Functions."""
        return self._gallery is not None and not self._gallery.starting

    @property
    def broken(self) -> str:
        """The sentence that says why nothing at all can be answered; empty while something can."""
        return self._gallery.broken if self._gallery is not None and self.own.engine.broken else ""

    @property
    def waiting(self) -> int:
        return sum(each.waiting for each in self.engines)

    @property
    def engines(self) -> list[Engine]:
        """The engine of the user's own Functions, and that of the gallery once it is started."""
        return [self.own.engine] + ([] if self._gallery is None else [self._gallery])

    @property
    def workers(self) -> list[int]:
        return [pid for each in self.engines for pid in each.workers]

    @property
    def outcomes(self) -> Counter[str]:
        return sum((each.outcomes for each in self.engines), Counter())

    @property
    def restarts(self) -> int:
        return sum(each.restarts for each in self.engines)

    async def wait_ready(self) -> None:
        """Return when a worker is ready; raises what ``Engine.wait_ready`` raises."""
        if self.own.engine.broken:
            await (await self._gallery_engine()).wait_ready()
        else:
            await self.own.engine.wait_ready()

    async def waits_for(self, name: str) -> bool:
        if self.starting:
            self.want_gallery()
        return self.starting and not await self._in_gallery(name)

    def want_gallery(self) -> None:
        """Load the gallery now, even before the user's own Functions are there."""
        self._gallery_wanted.set()

    async def wait_gallery(self) -> None:
        """Return when the gallery can be shown; raises what ``Engine.wait_ready`` raises."""
        self.want_gallery()
        await (await self._gallery_engine()).wait_ready()

    async def catalogue(self) -> Catalogue:
        """What is known of each op without calling it, by name; the user's own first, once they are loaded."""
        gallery = await (await self._gallery_engine()).catalogue()
        return {**({} if self.starting else await self._stubs()), **gallery}

    async def op(self, name: str, recipe: str = "") -> OpDescription:
        return await (await self._engine_of(name)).op(name, recipe)

    async def stub(self, name: str) -> OpStub:
        return await (await self._engine_of(name)).stub(name)

    async def device(self) -> DeviceSummary:
        from_gallery = self.own.engine.broken or (self.starting and self.shows_gallery)
        return await (await self._gallery_engine() if from_gallery else self.own.engine).device()

    async def answer(self, question: Question, gone: IsDisconnected | None = None, address: str = "") -> Answer:
        return await (await self._engine_of(question.op)).answer(question, gone, address)

    async def _stubs(self) -> Catalogue:
        return {} if self.own.engine.broken else await self.own.engine.catalogue()

    async def _engine_of(self, name: str) -> Engine:
        if await self._in_gallery(name):  # a user Function never has the name of an op of the gallery
            return await self._gallery_engine()
        if name in await self._stubs():
            return self.own.engine
        gallery = await self._gallery_engine()
        if name in await gallery.catalogue():
            return gallery
        raise UnknownOp(name)

    async def _in_gallery(self, name: str) -> bool:
        gallery = self._gallery
        return gallery is not None and gallery.ready and name in await gallery.catalogue()

    async def _after_first_load(self) -> None:
        async for state in self.own.changes():  # until the first load is finished
            if state["generation"]:
                break
        self.want_gallery()

    async def _start_gallery(self) -> None:
        await self._gallery_wanted.wait()
        while self._gallery is None:
            try:
                self._gallery = Engine(WorkerProcess(self._job))
            except OSError:  # out of processes or descriptors: retried
                await asyncio.sleep(RESTART_PAUSE)
        await self._gallery.connect()
        self._gallery_connected.set()

    async def _gallery_engine(self) -> Engine:
        await self._gallery_connected.wait()
        assert self._gallery is not None
        return self._gallery


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _LOG.error("the gallery is not loaded", exc_info=task.exception())


AnyEngine = Engine | CompositeEngine
