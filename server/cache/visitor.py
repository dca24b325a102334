"""Who asks, and what one visitor may have under way at once."""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..protocol.errors import EngineBusy
from ..supervisor.single_flight import IsDisconnected, Result

_PULSE = 0.05  # seconds between two looks at whether a visitor has disconnected


@dataclass(frozen=True)
class Visitor:
    """The client of a request: its address, in IPv6 its network, and a test of whether it has disconnected.

    The address is empty where clients are not told apart.
    """

    address: str
    gone: IsDisconnected

    async def waiting_for(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of some work, which is cancelled when the visitor disconnects; raises ``EngineBusy`` then."""
        task = asyncio.create_task(work)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # that of work nobody waits for
        try:
            while not (await asyncio.wait((task,), timeout=_PULSE))[0]:
                if await self.gone():
                    raise EngineBusy
            return task.result()
        finally:
            task.cancel()
            await asyncio.wait((task,))


class Shares:
    """So many at once for each address; 0 means no limit. ``refusal`` is the sentence for one more."""

    def __init__(self, most: int, refusal: str) -> None:
        self._most, self._refusal = most, refusal.format(most)
        self._taken: Counter[str] = Counter()
        self.refused = 0

    @contextmanager
    def one(self, address: str) -> Iterator[None]:
        """One more of this address; raises ``EngineBusy`` where it has all of its share."""
        if self._most and self._taken[address] >= self._most:
            self.refused += 1
            raise EngineBusy(self._refusal)
        self._taken[address] += 1
        try:
            yield
        finally:
            self._taken[address] -= 1
            if not self._taken[address]:
                del self._taken[address]
