"""Edits: a worker for each text that was edited in a page, kept a while, and a fair share of them for everybody."""

import asyncio
import os
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace

from ..protocol.errors import EngineBusy
from ..protocol.job import Job
from ..sandbox.canary import Confinement, examine
from .engine import Engine, EngineCounters
from .single_flight import IsDisconnected
from .worker_process import WorkerProcess

_LOADING, _MEMORY = 10.0, 1024  # seconds to execute a text, and MiB of a worker with its guest
_WAITING = 64  # questions that may wait
_FULL = "More edits are waiting than can be run soon; ask again in a second."
_MANY = "One address may have {} edits waiting; ask again in a second, when some are run."


@dataclass
class EditLimits:
    """How many edits are run ``at_once``, ``alive`` with their workers, and may be waiting for one address.

    ``spare`` workers are kept ready, each with its guest; ``deadline`` is in seconds, for each question.
    """

    at_once: int = 2 * (os.cpu_count() or 1)
    alive: int = 4 * (os.cpu_count() or 1)
    waiting: int = _WAITING // 2
    spare: int = 2
    deadline: float = 5.0


def _ended(spare: WorkerProcess) -> None:
    spare.kill()
    spare.reap()


class FairSlots:
    """So many at once, handed out in turn among the addresses that wait; one address has at most half of them.

    One may have ``most`` waiting. Neither holds for the address "", where clients are not told apart.
    """

    def __init__(self, count: int, most: int) -> None:
        self._free, self._count, self._most = count, count, most
        self._running: Counter[str] = Counter()
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @property
    def waiting(self) -> int:
        """How many wait for a slot."""
        return sum(map(len, self._queues.values()))

    @asynccontextmanager
    async def one(self, address: str) -> AsyncIterator[None]:
        """A slot, as soon as it is this address's turn; raises ``EngineBusy`` where too many wait already."""
        queue = self._queues.setdefault(address, deque())
        if address and len(queue) >= self._most:
            raise EngineBusy(_MANY.format(self._most))
        if self.waiting >= _WAITING:
            raise EngineBusy(_FULL)
        turn = asyncio.get_running_loop().create_future()
        queue.append(turn)
        self._hand_out()
        try:
            await turn
        except asyncio.CancelledError:
            if turn in queue:  # whoever has gone waits no more
                queue.remove(turn)
            elif not turn.cancelled():
                self._give_back(address)
            raise
        try:
            yield
        finally:
            self._give_back(address)

    def _give_back(self, address: str) -> None:
        self._free += 1
        self._running[address] -= 1
        self._running += Counter()  # without those that are zero
        self._hand_out()

    def _hand_out(self) -> None:
        """Give free slots to those who wait, one address after the other."""
        given = True
        while self._free and given:
            given = False
            for address in list(self._queues):
                queue, most = self._queues[address], (self._count + 1) // 2 if address else self._count
                while queue and queue[0].done():
                    queue.popleft()
                if not queue:
                    del self._queues[address]
                elif self._free and self._running[address] < most:
                    self._free -= 1
                    self._running[address] += 1
                    queue.popleft().set_result(None)
                    self._queues.move_to_end(address)
                    given = True


class Edits:
    """The engines of texts; those that were not asked for longest are ended first."""

    def __init__(self, limits: EditLimits | None = None) -> None:
        self.limits = limits or EditLimits()
        self.slots = FairSlots(self.limits.at_once, self.limits.waiting)
        self._engines: OrderedDict[str, Engine] = OrderedDict()
        self._used: Counter[str] = Counter()
        self.spares: deque[WorkerProcess] = deque()
        self._ending: set[asyncio.Task[None]] = set()
        self.counters = EngineCounters()
        self._confinement: asyncio.Task[Confinement] | None = None

    async def confinement(self) -> Confinement:
        """How well this system confines edited code, found out by a program of its own, once."""
        if self._confinement is None:
            self._confinement = asyncio.create_task(asyncio.to_thread(examine))
        return await asyncio.shield(self._confinement)

    @property
    def known_confinement(self) -> Confinement | None:
        """The same, None as long as it is not known."""
        examined = self._confinement
        return examined.result() if examined is not None and examined.done() else None

    @property
    def alive(self) -> int:
        """How many workers there are."""
        return len(self._engines)

    @asynccontextmanager
    async def engine(self, text: str, address: str, gone: IsDisconnected | None = None) -> AsyncIterator[Engine]:
        """The engine of a text, for one question of this address, when it is its turn.

        Raises ``EngineBusy`` where too many wait, the client has gone meanwhile, or no process can be started.
        """
        async with self.slots.one(address):
            if gone is not None and await gone():
                raise EngineBusy
            engine = await self._started(text)
            self._used[text] += 1
            deserted = False
            try:
                yield engine
            except (asyncio.CancelledError, EngineBusy):
                deserted = self._used[text] == 1
                raise
            finally:
                self._used[text] -= 1
                self._used += Counter()
                if engine.broken or deserted:  # it may loop, and nobody waits for it
                    self._end(text)
                self._shrink()
                self.prepare()

    def prepare(self) -> None:
        """Have as many workers forked as are kept spare, which takes none of the time of the next question."""
        with suppress(OSError):
            while len(self.spares) < self.limits.spare:
                self.spares.append(WorkerProcess(self._job))

    @property
    def _job(self) -> Job:
        return Job(deadline=self.limits.deadline, loading=_LOADING, memory=_MEMORY, text="")

    async def close(self) -> None:
        """End all workers."""
        for text in list(self._engines):
            self._end(text)
        await asyncio.gather(*(asyncio.to_thread(_ended, each) for each in self.spares))
        self.spares.clear()
        await asyncio.gather(*self._ending, return_exceptions=True)

    async def _started(self, text: str) -> Engine:
        engine = self._engines.get(text)
        if engine is None:
            try:
                process = self.spares.popleft() if self.spares else WorkerProcess(self._job)
            except OSError:
                raise EngineBusy from None
            process.job = replace(process.job, text=text)
            engine = Engine(process, self.counters)
            self._engines[text] = engine
            await engine.connect()
        self._engines.move_to_end(text)
        return engine

    def _shrink(self) -> None:
        idle = [text for text in self._engines if not self._used[text]]
        for text in idle[: max(0, len(self._engines) - self.limits.alive)]:
            self._end(text)

    def _end(self, text: str) -> None:
        engine = self._engines.pop(text, None)
        if engine is not None:
            task = asyncio.create_task(engine.close())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
