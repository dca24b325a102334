"""Many clients at once, in a process of their own so that their work is not the server's. Started by load.py."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from time import perf_counter
from urllib.parse import urlsplit

OK = (200, 304)
LATER = re.compile(rb"\r\nretry-after: *(\d+)", re.IGNORECASE)
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
CLOSES = re.compile(rb"\r\nconnection: *close", re.IGNORECASE)
CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)


@dataclass
class Seen:
    """The seconds of every request that got what it asked for, and how many replies there were of every status."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)


class Visitor(asyncio.Protocol):
    """One kept connection: the next request goes out as soon as a reply is whole, or when that said to ask again.

    A connection that the server ends is opened again; status 0 stands for one that ended without the whole reply.
    """

    def __init__(self, place: tuple[str, int], requests: Iterator[bytes], seen: Seen) -> None:
        self._place, self._requests, self._seen = place, requests, seen
        self._came = bytearray()
        self._whole = 0
        self._waits = self._left = False

    async def come(self) -> None:
        """Connect, and go on from there."""
        await asyncio.get_running_loop().create_connection(lambda: self, *self._place)

    def leave(self) -> None:
        """No more requests; what is under way is not counted."""
        self._left = True
        self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._came.clear()
        self._whole = 0
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._came += data
        if not self._whole:
            self._whole = whole(self._came)
        if self._whole and len(self._came) >= self._whole:
            self._answered(bytes(self._came))
            self._came.clear()
            self._whole = 0

    def connection_lost(self, _: Exception | None) -> None:
        if self._left:
            return
        if self._waits:
            self._seen.statuses[0] += 1
        self._again = asyncio.create_task(self.come())

    def _ask(self) -> None:
        if self._left or self._transport.is_closing():
            return
        self._waits = True
        self._asked = perf_counter()
        self._transport.write(next(self._requests))

    def _answered(self, reply: bytes) -> None:
        self._waits = False
        status, later = int(reply[9:12]), LATER.search(reply)
        self._seen.statuses[status] += 1
        if status in OK:
            self._seen.seconds.append(perf_counter() - self._asked)
        if later:
            asyncio.get_running_loop().call_later(int(later[1]), self._ask)
        elif not CLOSES.search(reply):
            self._ask()


def whole(came: bytearray) -> int:
    """The bytes of the whole reply; 0 while that is not known."""
    end = came.find(b"\r\n\r\n")
    if end < 0:
        return 0
    head = bytes(came[:end])
    length = LENGTH.search(head)
    if length is not None or not CHUNKED.search(head):
        return end + 4 + int(length[1] if length else 0)
    last = came.find(b"\r\n0\r\n\r\n", end)
    return last + 7 if last >= 0 else 0


async def main(url: str, clients: int, lasts: float, address: str, headers: dict[str, str], first: int) -> None:
    """Ask for ``lasts`` seconds, and print what happened as JSON. A {} in the address becomes another number each."""
    place = urlsplit(url)
    head = "".join(f"{name}: {value}\r\n" for name, value in ({"Host": place.netloc} | headers).items())
    asked = (f"GET {address.replace('{}', str(n))} HTTP/1.1\r\n{head}\r\n".encode() for n in count(first))
    seen = Seen()
    visitors = [Visitor((str(place.hostname), place.port or 80), asked, seen) for _ in range(clients)]
    began = perf_counter()
    await asyncio.gather(*(visitor.come() for visitor in visitors))
    await asyncio.sleep(lasts)
    took = perf_counter() - began
    for visitor in visitors:
        visitor.leave()
    ordered = sorted(seen.seconds) or [0.0]
    print(
        json.dumps(
            {
                "rate": len(seen.seconds) / took,
                "p50": ordered[len(ordered) // 2],
                "p99": ordered[int(0.99 * (len(ordered) - 1))],
                "statuses": seen.statuses,
            }
        )
    )


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    asyncio.run(main(**asked))
