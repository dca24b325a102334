"""Two doors in one: the visitor's own Functions, which follow their files, and the gallery behind them."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from ..protocol.errors import NoOp
from ..protocol.job import Work
from ..protocol.question import Question
from ..supervisor.engine import Answer, Catalogue, Engine
from ..supervisor.supervisor import PAUSE
from ..supervisor.worker_process import WorkerProcess
from .reloader import Loads

_LOG = logging.getLogger("gradloupe")


class Library:
    """Stands where an ``Engine`` may stand.

    The gallery is loaded when the visitor's own Functions are there, or as soon as somebody wants to see it.
    """

    def __init__(self, own: Loads, gallery: Work) -> None:
        self.own = own
        self._work = gallery
        self._gallery: Engine | None = None
        self._wanted = asyncio.Event()
        self._there = asyncio.Event()  # the engine of the gallery

    async def connect(self) -> None:
        """Listen to the workers from now on."""
        await self.own.connect()
        self._opening = [asyncio.create_task(each) for each in (self._first(), self._open())]
        for each in self._opening:
            each.add_done_callback(_done)

    async def close(self) -> None:
        """End the workers and leave nothing behind."""
        for each in self._opening:
            each.cancel()
        await asyncio.gather(*self._opening, return_exceptions=True)
        await self.own.close()
        if self._gallery is not None:
            await self._gallery.close()

    @property
    def ready(self) -> bool:
        """Whether a worker listens that has loaded the visitor's own Functions."""
        return self.own.engine.ready

    @property
    def starting(self) -> bool:
        """Whether nothing is known yet, of the visitor's own Functions or of why they cannot be loaded."""
        return self.own.engine.starting

    @property
    def shows_gallery(self) -> bool:
        """Whether the gallery can be shown, whatever becomes of the visitor's own Functions."""
        return self._gallery is not None and not self._gallery.starting

    @property
    def broken(self) -> str:
        """The sentence that says why there are no answers at all; empty while there are."""
        return self._gallery.broken if self._gallery is not None and self.own.engine.broken else ""

    @property
    def waiting(self) -> int:
        """How many have asked, and are not answered yet."""
        return sum(each.waiting for each in self.engines)

    @property
    def engines(self) -> list[Engine]:
        """That of the visitor's own Functions, and that of the gallery as soon as there is one."""
        return [self.own.engine] + ([] if self._gallery is None else [self._gallery])

    @property
    def worker(self) -> int:
        """The number of the process that the visitor's own Functions run in."""
        return self.own.engine.worker

    @property
    def outcomes(self) -> Counter[str]:
        """How the questions went."""
        return sum((each.outcomes for each in self.engines), Counter())

    @property
    def restarts(self) -> int:
        """How many workers were replaced."""
        return sum(each.restarts for each in self.engines)

    async def wait_ready(self) -> None:
        """Return when there is something to ask; raises what ``Engine.wait_ready`` raises."""
        if self.own.engine.broken:
            await (await self._opened()).wait_ready()
        else:
            await self.own.engine.wait_ready()

    async def waits_for(self, name: str) -> bool:
        """Whether nothing is known yet of what may be the op of that name."""
        return self.starting and not await self._in_gallery(name)

    def want_gallery(self) -> None:
        """Have the gallery loaded now, though the visitor's own Functions may still be on their way."""
        self._wanted.set()

    async def wait_gallery(self) -> None:
        """Return when the gallery can be shown; raises what ``Engine.wait_ready`` raises."""
        self.want_gallery()
        await (await self._opened()).wait_ready()

    async def catalogue(self) -> Catalogue:
        """What there is to ask about, by op name: the visitor's own, as far as they are loaded, come first."""
        gallery = await (await self._opened()).catalogue()
        return {**({} if self.starting else await self._stubs()), **gallery}

    async def op(self, name: str, recipe: str = "") -> dict[str, Any]:
        """One op, as ``Engine.op`` has it."""
        return await (await self._engine_of(name)).op(name, recipe)

    async def test(self, name: str, recipe: str = "") -> str:
        """The op as a test file for pytest, as ``Engine.test`` has it."""
        return await (await self._engine_of(name)).test(name, recipe)

    async def stub(self, name: str) -> dict[str, Any]:
        """What is known of an op without calling it; raises ``NoOp``."""
        return await (await self._engine_of(name)).stub(name)

    async def device(self) -> dict[str, Any]:
        """The devices of this machine and the release of torch."""
        alone = self.own.engine.broken or (self.starting and self.shows_gallery)
        return await (await self._opened() if alone else self.own.engine).device()

    async def answer(self, question: Question, gone: Callable[[], Awaitable[bool]] | None = None) -> Answer:
        """The section asked for, as ``Engine.answer`` has it."""
        return await (await self._engine_of(question.op)).answer(question, gone)

    async def _stubs(self) -> Catalogue:
        return {} if self.own.engine.broken else await self.own.engine.catalogue()

    async def _engine_of(self, name: str) -> Engine:
        if await self._in_gallery(name):  # no other Function has such a name
            return await self._opened()
        if name in await self._stubs():
            return self.own.engine
        gallery = await self._opened()
        if name in await gallery.catalogue():
            return gallery
        raise NoOp(name)

    async def _in_gallery(self, name: str) -> bool:
        here = self._gallery
        return here is not None and here.ready and name in await here.catalogue()

    async def _first(self) -> None:
        async for state in self.own.changes():  # until the first load has come to an end
            if state["generation"]:
                break
        self.want_gallery()

    async def _open(self) -> None:
        await self._wanted.wait()
        while self._gallery is None:
            try:
                self._gallery = Engine(WorkerProcess(self._work))
            except OSError:  # too many processes or files at this moment
                await asyncio.sleep(PAUSE)
        await self._gallery.connect()
        self._there.set()

    async def _opened(self) -> Engine:
        await self._there.wait()
        assert self._gallery is not None
        return self._gallery


def _done(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _LOG.error("the gallery is not loaded", exc_info=task.exception())


Door = Engine | Library
