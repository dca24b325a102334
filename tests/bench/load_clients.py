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
RETRY_AFTER = re.compile(rb"\r\nretry-after: *(\d+)", re.IGNORECASE)
CONTENT_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
CONNECTION_CLOSE = re.compile(rb"\r\nconnection: *close", re.IGNORECASE)
CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)


@dataclass
class Replies:
    """The seconds of every request that got what it asked for, and how many replies there were of every status."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)


class LoadClient(asyncio.Protocol):
    """One kept connection: the next request goes out as soon as a reply is whole, or when that said to ask again.

    A connection that the server ends is opened again; status 0 stands for one that ended without the whole reply.
    """

    def __init__(self, place: tuple[str, int], requests: Iterator[bytes], replies: Replies) -> None:
        self._place, self._requests, self._replies = place, requests, replies
        self._received = bytearray()
        self._end = 0
        self._waiting = self._ended = False

    async def connect(self) -> None:
        """Connect, and go on from there."""
        await asyncio.get_running_loop().create_connection(lambda: self, *self._place)

    def end(self) -> None:
        """No more requests; what is under way is not counted."""
        self._ended = True
        self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._received.clear()
        self._end = 0
        self._request()

    def data_received(self, data: bytes) -> None:
        self._received += data
        if not self._end:
            self._end = reply_length(self._received)
        if self._end and len(self._received) >= self._end:
            self._reply_received(bytes(self._received))
            self._received.clear()
            self._end = 0

    def connection_lost(self, _: Exception | None) -> None:
        if self._ended:
            return
        if self._waiting:
            self._replies.statuses[0] += 1
        self._again = asyncio.create_task(self.connect())

    def _request(self) -> None:
        if self._ended or self._transport.is_closing():
            return
        self._waiting = True
        self._sent = perf_counter()
        self._transport.write(next(self._requests))

    def _reply_received(self, reply: bytes) -> None:
        self._waiting = False
        status, later = int(reply[9:12]), RETRY_AFTER.search(reply)
        self._replies.statuses[status] += 1
        if status in OK:
            self._replies.seconds.append(perf_counter() - self._sent)
        if later:
            asyncio.get_running_loop().call_later(int(later[1]), self._request)
        elif not CONNECTION_CLOSE.search(reply):
            self._request()


def reply_length(received: bytearray) -> int:
    """The bytes of the whole reply; 0 while that is not known."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return 0
    head = bytes(received[:end])
    length = CONTENT_LENGTH.search(head)
    if length is not None or not CHUNKED.search(head):
        return end + 4 + int(length[1] if length else 0)
    last = received.find(b"\r\n0\r\n\r\n", end)
    return last + 7 if last >= 0 else 0


async def main(url: str, clients: int, seconds: float, address: str, headers: dict[str, str], first: int) -> None:
    """Ask for ``seconds`` seconds, and print what happened as JSON. A {} in the address becomes another number each."""
    place = urlsplit(url)
    head = "".join(f"{name}: {value}\r\n" for name, value in ({"Host": place.netloc} | headers).items())
    requests = (f"GET {address.replace('{}', str(n))} HTTP/1.1\r\n{head}\r\n".encode() for n in count(first))
    replies = Replies()
    protocols = [LoadClient((str(place.hostname), place.port or 80), requests, replies) for _ in range(clients)]
    began = perf_counter()
    await asyncio.gather(*(protocol.connect() for protocol in protocols))
    await asyncio.sleep(seconds)
    took = perf_counter() - began
    for protocol in protocols:
        protocol.end()
    ordered = sorted(replies.seconds) or [0.0]
    print(
        json.dumps(
            {
                "rate": len(replies.seconds) / took,
                "p50": ordered[len(ordered) // 2],
                "p99": ordered[int(0.99 * (len(ordered) - 1))],
                "statuses": replies.statuses,
            }
        )
    )


if __name__ == "__main__":
    asyncio.run(main(**json.loads(sys.argv[1])))
