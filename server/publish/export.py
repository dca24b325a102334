"""The file of a figure that a server hands out: within limits of time, and so many at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ..cache.answer_cache import AnswerCache
from ..cache.visitor import Visitor
from ..protocol.answer import Answer
from ..protocol.errors import EngineBusy
from ..protocol.question import Question
from ..schema.op import DeviceSummary, OpDescription
from ..url.address import Address
from ..url.numbers import BadQuery
from .figure import measured_figure
from .files import one_file

_SECONDS = 60.0  # budget: for all sections of one file
_PAUSE = 0.1  # unit: seconds before a retry when the engine is busy
_PATIENCE = 10.0  # budget: seconds to wait for a place
CONCURRENT_FILES = 2  # budget: files that are written at the same time


class FileWriter:
    """Writes files: so many at once in all, and one for each visitor; who finds no place waits for ``patience`` s."""

    def __init__(self, answers: AnswerCache, seconds: float = _SECONDS, patience: float = _PATIENCE) -> None:
        self._answers, self._seconds, self._patience = answers, seconds, patience
        self._taken: list[str] = []  # by the addresses of their visitors
        self._change = asyncio.Condition()

    async def file(
        self, op: OpDescription, device: DeviceSummary, address: Address, visitor: Visitor
    ) -> tuple[bytes, bool]:
        """The file with all its sections, and whether it may be cached, which is where no Function failed.

        Raises ``BadQuery`` where there are too many sections or they take too long, ``EngineBusy`` where too many files
        are asked for at once, and what ``AnswerCache.of`` raises. Questions are asked one by one, so that another
        request waits for one at most.
        """

        async def ask(question: Question) -> Answer:
            await asyncio.sleep(0)  # a cached answer comes without a pause, in which other requests can be served
            while not await visitor.gone():
                try:
                    return await self._answers.of(op, device, question, visitor)
                except EngineBusy:
                    await asyncio.sleep(_PAUSE)
            raise EngineBusy

        async with self._place(address, visitor):
            figure = await measured_figure(ask, op, device, address)
            return await asyncio.to_thread(one_file, figure, "zoom" in address.hide), not figure.failed

    @asynccontextmanager
    async def _place(self, address: Address, visitor: Visitor) -> AsyncIterator[None]:
        await self._take(visitor.address)
        try:
            async with asyncio.timeout(self._seconds):
                yield
        except TimeoutError:
            if not address.sliders:  # without sliders there is one section: the engine is slow
                raise EngineBusy from None
            culprit = f"sliders: so many sections could not be computed in {self._seconds:g} s"
            raise BadQuery(f"{culprit}; give fewer values.", "sliders") from None
        finally:
            self._taken.remove(visitor.address)
            async with self._change:
                self._change.notify_all()

    async def _take(self, visitor: str) -> None:
        def is_free() -> bool:
            return len(self._taken) < CONCURRENT_FILES and (not visitor or visitor not in self._taken)

        try:
            async with asyncio.timeout(self._patience), self._change:
                await self._change.wait_for(is_free)
                self._taken.append(visitor)
        except TimeoutError:
            raise EngineBusy from None
