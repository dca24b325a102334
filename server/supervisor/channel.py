"""The server's end of the channel: whole frames out of what arrives in the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ..protocol.frames import PREFIX, Frame, lengths, unpack


class Channel(asyncio.Protocol):
    """Calls ``hear`` with every frame. ``closed`` is done when the other end is gone, or sent what is no frame."""

    def __init__(self, hear: Callable[[Frame], None]) -> None:
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._hear = hear
        self._bytes = bytearray()

    def data_received(self, data: bytes) -> None:
        self._bytes += data
        while len(self._bytes) >= PREFIX.size:
            header, payload = lengths(bytes(self._bytes[: PREFIX.size]))
            middle, end = PREFIX.size + header, PREFIX.size + header + payload
            if len(self._bytes) < end:
                return
            frame = unpack(bytes(self._bytes[PREFIX.size : middle]), bytes(self._bytes[middle:end]))
            del self._bytes[:end]
            self._hear(frame)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)
