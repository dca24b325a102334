"""Two doors in one: the visitor's own Functions, which follow their files, and the gallery behind them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from .denial import NoOp
from .engine import Answer, Catalogue, Engine
from .live.loads import Loads
from .process import WorkerProcess
from .question import Question
from .succession import PAUSE
from .work import Work


class Library:
    """Stands where an ``Engine`` may stand. The gallery is loaded when the visitor's own Functions are there."""

    def __init__(self, own: Loads, gallery: Work) -> None:
        self.own = own
        self._work = gallery
        self._gallery: Engine | None = None
        self._there = asyncio.Event()  # the engine of the gallery

    async def connect(self) -> None:
        """Listen to the workers from now on."""
        await self.own.connect()
        self._opening = asyncio.create_task(self._open())

    async def close(self) -> None:
        """End the workers and leave nothing behind."""
        self._opening.cancel()
        with suppress(asyncio.CancelledError):
            await self._opening
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
    def broken(self) -> str:
        """The sentence that says why there are no answers at all; empty while there are."""
        return self._gallery.broken if self._gallery is not None and self.own.engine.broken else ""

    @property
    def waiting(self) -> int:
        """How many have asked, and are not answered yet."""
        return sum(each.waiting for each in self._engines)

    @property
    def worker(self) -> int:
        """The number of the process that the visitor's own Functions run in."""
        return self.own.engine.worker

    @property
    def outcomes(self) -> Counter[str]:
        """How the questions went."""
        return sum((each.outcomes for each in self._engines), Counter())

    @property
    def restarts(self) -> int:
        """How many workers were replaced."""
        return sum(each.restarts for each in self._engines)

    async def wait_ready(self) -> None:
        """Return when there is something to ask; raises what ``Engine.wait_ready`` raises."""
        if self.own.engine.broken:
            await (await self._opened()).wait_ready()
        else:
            await self.own.engine.wait_ready()

    async def catalogue(self) -> Catalogue:
        """What there is to ask about, by op name: the visitor's own, as far as they could be loaded, come first."""
        gallery = await (await self._opened()).catalogue()
        return {**await self._stubs(), **gallery}

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
        return await (await self._opened() if self.own.engine.broken else self.own.engine).device()

    async def answer(self, question: Question, gone: Callable[[], Awaitable[bool]] | None = None) -> Answer:
        """The section asked for, as ``Engine.answer`` has it."""
        return await (await self._engine_of(question.op)).answer(question, gone)

    @property
    def _engines(self) -> list[Engine]:
        return [self.own.engine] + ([] if self._gallery is None else [self._gallery])

    async def _stubs(self) -> Catalogue:
        return {} if self.own.engine.broken else await self.own.engine.catalogue()

    async def _engine_of(self, name: str) -> Engine:
        if name in await self._stubs():
            return self.own.engine
        gallery = await self._opened()
        if name in await gallery.catalogue():
            return gallery
        raise NoOp(name)

    async def _open(self) -> None:
        async for state in self.own.changes():  # until the first load has come to an end
            if state["generation"]:
                break
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


Door = Engine | Library
