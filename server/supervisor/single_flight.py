"""Single flight: who asks for what is under way already gets the same answer."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from ..protocol.errors import EngineBusy

Result = TypeVar("Result")
IsDisconnected = Callable[[], Awaitable[bool]]


class SingleFlight(Generic[Result]):
    """Work under way, by key."""

    def __init__(self) -> None:
        # By key, with a test for each waiting client of whether it has disconnected.
        self._flights: dict[str, tuple[asyncio.Task[Result], list[IsDisconnected | None]]] = {}

    def join(
        self,
        key: str,
        work: Callable[[IsDisconnected], Awaitable[Result]],
        gone: IsDisconnected | None = None,
    ) -> asyncio.Task[Result]:
        """The task that does this work, to be shielded; ``work`` is begun where none of that ``key`` is under way.

        ``gone`` tells whether this client has disconnected, None where its answer is wanted anyway. What ``work`` is
        given tells whether all of them have. Raises ``EngineBusy`` where the server ends before.
        """
        flight = self._flights.get(key)
        if flight is None:
            waiting: list[IsDisconnected | None] = []
            task = asyncio.create_task(self._fly(key, work, waiting))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())  # its client may be gone
            flight = self._flights[key] = task, waiting
        flight[1].append(gone)
        return flight[0]

    async def _fly(
        self,
        key: str,
        work: Callable[[IsDisconnected], Awaitable[Result]],
        waiting: list[IsDisconnected | None],
    ) -> Result:
        async def deserted() -> bool:
            return all([gone is not None and await gone() for gone in waiting])

        try:
            return await work(deserted)
        except asyncio.CancelledError:  # the server is ending
            raise EngineBusy from None
        finally:
            del self._flights[key]
