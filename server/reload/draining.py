"""Replaced engines, which answer the questions they still have and are then closed."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from ..supervisor.engine import Engine


class DrainingEngines:
    """Closes engines as soon as they have no question left."""

    def __init__(self) -> None:
        self._leaving: dict[asyncio.Task[None], Engine] = {}

    def add(self, engine: Engine) -> None:
        """Close this one once it is idle, or at once if it never became ready; it may get no more questions."""
        leaving = asyncio.create_task(_leave(engine))
        self._leaving[leaving] = engine
        leaving.add_done_callback(self._leaving.pop)

    async def close(self) -> None:
        """Close all of them now."""
        left = dict(self._leaving)
        for leaving in left:
            leaving.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        for engine in left.values():
            await engine.close()


async def _leave(engine: Engine) -> None:
    if not engine.starting and not engine.broken:
        with suppress(TimeoutError):
            async with asyncio.timeout(engine.work.deadline * (engine.waiting + 1)):
                await engine.idle()
    await engine.close()
