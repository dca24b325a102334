"""The file of a figure that a server hands out: within limits of time, and so many at once."""

import asyncio
from contextlib import nullcontext

from ..cache.answer_cache import AnswerCache
from ..cache.visitor import Shares, Visitor
from ..protocol.answer import Answer
from ..protocol.errors import EngineBusy
from ..protocol.question import Question
from ..schema.op import DeviceSummary, OpDescription
from ..url.address import Address
from ..url.numbers import BadQuery
from .figure import measured_figure, one_file

_PAUSE = 0.1  # unit: seconds before a retry when the engine is busy
CONCURRENT_FILES = 2  # budget: files that are written at the same time
_OF_ONE = "One address may have {} file written at once; ask again when that is there."


class FileWriter:
    """Writes files: one at once for each visitor, and so many in all; who finds no place waits for ``patience`` s."""

    def __init__(self, answers: AnswerCache, seconds: float = 60.0, patience: float = 10.0) -> None:
        self._answers, self._seconds, self._patience = answers, seconds, patience
        self._places, self._shares = asyncio.Semaphore(CONCURRENT_FILES), Shares(1, _OF_ONE)

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

        with self._shares.one(visitor.address) if visitor.address else nullcontext():
            try:
                async with asyncio.timeout(self._patience):
                    await self._places.acquire()
            except TimeoutError:
                raise EngineBusy from None
            try:
                figure = await asyncio.wait_for(measured_figure(ask, op, device, address, alone=True), self._seconds)
                return await asyncio.to_thread(one_file, figure, "zoom" in address.hide), not figure.failed
            except TimeoutError:
                if not address.sliders:  # without sliders there is one section: the engine is slow
                    raise EngineBusy from None
                culprit = f"sliders: so many sections could not be computed in {self._seconds:g} s"
                raise BadQuery(f"{culprit}; give fewer values.", "sliders") from None
            finally:
                self._places.release()
