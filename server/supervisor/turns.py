"""Turns: who gets the next free worker; a short question before a long one, and nobody twice before others once."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from heapq import heappop, heappush
from itertools import count
from math import inf

from ..protocol.errors import EngineBusy
from ..protocol.messages import WorkerRequest
from .single_flight import IsDisconnected
from .worker import Worker

# For each second that a question takes it lets others pass for so many, and for as many more by each question of the
# same client that is not answered yet. So a long one is late, and never left behind.
_LATER = 4.0
_USUAL = 0.05  # seconds that a question is expected to take, of whose kind none was asked yet


class Turns:
    """The free workers, and who waits for one; ``most`` questions may be under way or waiting."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seconds: dict[tuple[str, str], float] = {}  # that questions have taken, by view and op
        self._free: list[Worker] = []
        self._line: list[tuple[float, int, asyncio.Future[Worker]]] = []  # a heap; who is due first is at its top
        self._numbers = count()
        self._held: Counter[str] = Counter()
        self._idle = asyncio.Event()  # set while no question waits

    @property
    def waiting(self) -> int:
        """How many questions are not answered yet."""
        return self._held.total()

    async def idle(self) -> None:
        """Return when no question waits."""
        if self.waiting:
            await self._idle.wait()

    @contextmanager
    def place(self, address: str) -> Iterator[None]:
        """A place for one question of a client, "" where they are not told apart; raises ``EngineBusy``."""
        if self.waiting >= self._most:
            raise EngineBusy
        self._held[address] += 1
        self._idle.clear()
        try:
            yield
        except asyncio.CancelledError:  # the server is ending, and its time to finish is over
            raise EngineBusy from None
        finally:
            self._held[address] -= 1
            self._held += Counter()  # without those that are zero
            if not self._held:
                self._idle.set()

    @asynccontextmanager
    async def worker(
        self, request: WorkerRequest, address: str, gone: IsDisconnected | None, again: bool
    ) -> AsyncIterator[Worker]:
        """A worker for a request of this client, the next free one if asked ``again``.

        Raises what ``refuse`` is given, and ``EngineBusy`` where the client has ``gone`` while it had to wait.
        """
        kind, turn = _kind_of(request), asyncio.get_running_loop().create_future()
        seconds = self._seconds.get(kind) or self._seconds.get((kind[0], ""), _USUAL)
        due = -inf if again else time.monotonic() + _LATER * seconds * (self._held[address] if address else 1)
        heappush(self._line, (due, next(self._numbers), turn))
        self._hand_out()
        waits = not turn.done()
        try:
            worker = await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.add(turn.result())
            raise
        try:
            if waits and gone is not None and await gone():
                raise EngineBusy
            try:
                yield worker
            finally:
                for key in (kind, (kind[0], "")):
                    self._seconds[key] = (self._seconds.get(key, worker.seconds) + worker.seconds) / 2
        finally:
            self.add(worker)

    def add(self, worker: Worker) -> None:
        """A worker is free, if it still listens."""
        if worker.listens:
            self._free.append(worker)
            self._hand_out()

    def refuse(self, problem: Exception) -> None:
        """There will be no worker for those who wait."""
        for *_, turn in self._line:
            if not turn.done():
                turn.set_exception(problem)
        self._line.clear()

    def _hand_out(self) -> None:
        self._free = [worker for worker in self._free if worker.listens]
        while self._free and self._line:
            *_, turn = heappop(self._line)
            if not turn.done():
                turn.set_result(self._free.pop())


def _kind_of(request: WorkerRequest) -> tuple[str, str]:
    """What is asked for, the view of a question, and of which op."""
    if request["kind"] == "describe":
        return "", request["op"]
    return request["question"]["view"], request["question"]["op"]
