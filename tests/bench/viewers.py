"""A hundred people open a page at once, each with numbers of their own, and move its slider: what they wait.

``PYTHONPATH=tests python tests/bench/viewers.py`` prints the table alone.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from statistics import quantiles
from time import perf_counter
from urllib.parse import urlsplit

from client import Client
from report import Report, Table, Target
from support.servers import Server, serving

VIEWERS = (1, 10, 100)
OPS = ("clamp_with_grad", "exp", "kill_head", "softmax")
MOVES, PACE = 5, 0.2  # of the slider, the next when the last is drawn, and no faster than so many seconds each
ROUNDS = 3
SLOW = 1.0  # seconds within which 95 of 100 are to come
STATUS = re.compile(rb"HTTP/1\.1 (\d+)")
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
LATER = re.compile(rb"\r\nretry-after: *(\d+)", re.IGNORECASE)
DRAWN = b'id="answer"'  # the curves of a page


@dataclass
class Waited:
    """Seconds until each page and each redraw was there, refusals included; how many those were; CPU of the server."""

    pages: list[float] = field(default_factory=list)
    curves: list[float] = field(default_factory=list)
    moves: list[float] = field(default_factory=list)
    refused: int = 0
    cpu: float = 0.0


class Viewer:
    """One connection of somebody at an address of their own."""

    def __init__(self, place: tuple[str, int], number: int, waited: Waited) -> None:
        self._place, self._own, self._waited = place, f"127.0.{1 + number // 250}.{1 + number % 250}", waited

    async def look(self, op: str, numbers: Iterator[int]) -> None:
        """Open the page of ``op``, and move its slider once its curves are there."""
        self._reader, self._writer = await asyncio.open_connection(*self._place, local_addr=(self._own, 0))
        began, first = perf_counter(), f"?grad_output={1 + next(numbers) / 4096}"
        page = await self._answer(f"/ops/{op}{first}")
        self._waited.pages.append(perf_counter() - began)
        if DRAWN not in page:
            await self._answer(f"/ops/{op}.page.json{first}")
        self._waited.curves.append(perf_counter() - began)
        for _ in range(MOVES):
            moved = perf_counter()
            await self._answer(f"/ops/{op}.page.json?grad_output={1 + next(numbers) / 4096}")
            self._waited.moves.append(perf_counter() - moved)
            await asyncio.sleep(max(0.0, PACE - (perf_counter() - moved)))
        self._writer.close()

    async def _answer(self, address: str) -> bytes:
        """The body of the answer, asked for again as often as the server asks to be."""
        while True:
            self._writer.write(f"GET {address} HTTP/1.1\r\nHost: {self._place[0]}:{self._place[1]}\r\n\r\n".encode())
            head = await self._reader.readuntil(b"\r\n\r\n")
            status, length, later = STATUS.match(head), LENGTH.search(head), LATER.search(head)
            if status is None or length is None:
                raise RuntimeError(f"{address} answered {head!r}")
            body = await self._reader.readexactly(int(length[1]))
            if status[1] == b"200":
                return body
            if later is None:
                raise RuntimeError(f"{address} answered {head.decode()}")
            self._waited.refused += 1
            await asyncio.sleep(int(later[1]))


async def crowd(server: Server, count: int, numbers: Iterator[int], waited: Waited) -> None:
    """So many viewers at once."""
    place = urlsplit(server.url)
    viewers = [Viewer((str(place.hostname), place.port or 80), number, waited) for number in range(count)]
    await asyncio.gather(*(each.look(OPS[i % len(OPS)], numbers) for i, each in enumerate(viewers)))


def measure() -> Report:
    """The table of crowds."""
    results = {count: Waited() for count in VIEWERS}
    numbers = iter(range(1, 10**9))
    with serving() as server, closing(Client(server.url, server.process.pid)) as client:
        server.wait_until_ready()
        for op in OPS:
            client.get(f"/ops/{op}")
        for _ in range(ROUNDS):
            for count, waited in results.items():
                before = sum(client.cpu_seconds())
                asyncio.run(crowd(server, count, numbers, waited))
                waited.cpu += sum(client.cpu_seconds()) - before
    rows = [_row(count, waited) for count, waited in results.items()]
    headings = ("viewers", "page p50 / p95 / max", "with curves", "slider p50 / p95 / max", "refusals", "CPU a viewer")
    load = os.getloadavg()[0]
    note = (
        f"Each opens the page of one of {len(OPS)} Functions with a grad_output and from an address of its own, and "
        f"moves it {MOVES} times, no faster than {PACE:g} s each; {ROUNDS} rounds, and a load of {load:.1f} in the "
        "end. The viewers are one process on the same machine. Who is told to come back later does, and waits on."
    )
    page, move = (quantiles(each, n=20)[-1] for each in (results[VIEWERS[-1]].pages, results[VIEWERS[-1]].moves))
    targets = [
        Target(f"{VIEWERS[-1]} viewers: 95 of 100 have {what} within {SLOW:g} s", f"{seconds:.2f} s", seconds <= SLOW)
        for what, seconds in (("a page", page), ("a redraw", move))
    ]
    return Report([Table("New viewers, all at once", headings, rows, note)], targets)


def _row(count: int, waited: Waited) -> tuple[str, ...]:
    cpu = f"{1e3 * waited.cpu / (ROUNDS * count):.0f} ms"
    times = [_times(each) for each in (waited.pages, waited.curves, waited.moves)]
    return f"{count}", *times, f"{waited.refused}", cpu


def _times(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    middle, slow = (ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in (0.5, 0.95))
    return f"{middle:.2f} / {slow:.2f} / {ordered[-1]:.2f} s"


if __name__ == "__main__":
    print(measure().tables[0].markdown())
