"""The process that draws pixels: the web goes on beside it, and it is replaced when it ends."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from select import select
from socket import socket

import pytest
from support.event_loop import awaited
from support.raw_http import connected, read, send
from support.servers import Server, children, serving_in_thread

from gradloupe.server.png.client import LONGEST_QUEUE, Rasterizer
from gradloupe.server.protocol import EngineBusy, EngineFault

SMALL = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
LARGEST = "width=2400&height=2400"
PNG = b"\x89PNG"


def processes() -> set[int]:
    """Those that draw, of all the servers of this process."""
    return {*children(os.getpid(), "png.process")}


@dataclass(frozen=True)
class Own:
    """A server, and the processes of the others."""

    server: Server
    others: set[int]

    def rasterizer(self) -> int:
        (child,) = processes() - self.others
        return child


@pytest.fixture(scope="module")
def own() -> Iterator[Own]:
    """A server that has drawn a picture."""
    with serving_in_thread() as server:
        server.wait_until_ready()
        others = processes()
        assert server.get("/ops/exp.png").content.startswith(PNG)
        yield Own(server, others)


@contextmanager
def asleep(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def asked(stack: ExitStack, server: Server, paths: list[str]) -> list[socket]:
    """Connections, each of which has asked for another picture."""
    connections = [stack.enter_context(connected(server)) for _ in paths]
    for connection, path in zip(connections, paths, strict=True):
        send(connection, path)
    return connections


def test_the_web_goes_on_while_pictures_are_drawn(own: Own) -> None:
    with ExitStack() as stack:
        with asleep(own.rasterizer()):
            connections = asked(stack, own.server, [f"/ops/exp.png?grad_output=1.{n}5&{LARGEST}" for n in range(2)])
            assert own.server.get("/healthz").json() == {"status": "ready"}
            assert select(connections, [], [], 0)[0] == []
        assert own.server.get("/healthz").json() == {"status": "ready"}
        assert len(select(connections, [], [], 0)[0]) < len(connections)
        for connection in connections:
            status, _, body = read(connection)
            assert (status, body[:4]) == (200, PNG)


def test_more_pictures_than_can_be_drawn_soon_are_refused(own: Own) -> None:
    with ExitStack() as stack:
        with asleep(own.rasterizer()):
            addresses = [f"/ops/exp.png?grad_output=2.{n:02}5" for n in range(LONGEST_QUEUE + 3)]
            connections = asked(stack, own.server, addresses)
            refused: list[socket] = []
            while len(refused) < 3:
                refused = select(connections, [], [], 60)[0]
            for connection in refused:
                status, headers, body = read(connection)
                assert (status, headers["retry-after"]) == (503, "1")
                assert b"ask again" in body
        assert [read(each)[0] for each in connections if each not in refused] == [200] * LONGEST_QUEUE


@asynccontextmanager
async def drawing() -> AsyncIterator[tuple[Rasterizer, int]]:
    """One that has drawn a picture, and its process."""
    rasterizer, others = Rasterizer(60.0), processes()
    try:
        await rasterizer.png(SMALL)
        (child,) = processes() - others
        yield rasterizer, child
    finally:
        await rasterizer.close()


@awaited
async def test_one_picture_that_many_ask_for_at_once_is_drawn_once() -> None:
    async with drawing() as (rasterizer, _):
        pictures = await asyncio.gather(*(rasterizer.png(SMALL) for _ in range(4 * LONGEST_QUEUE)))
        assert len({id(each) for each in pictures}) == 1


@awaited
async def test_a_picture_whose_process_is_killed_is_drawn_by_the_next() -> None:
    async with drawing() as (rasterizer, child):
        os.kill(child, signal.SIGSTOP)
        picture = asyncio.create_task(rasterizer.png(SMALL))
        await asyncio.sleep(0)  # it is handed over
        os.kill(child, signal.SIGKILL)
        assert (await picture).startswith(PNG)


@awaited
async def test_a_picture_that_takes_too_long_is_given_up_and_the_next_is_drawn() -> None:
    async with drawing() as (rasterizer, child):
        rasterizer.deadline = 0.1
        with asleep(child), pytest.raises(EngineBusy, match="not drawn within"):
            await rasterizer.png(SMALL)
        rasterizer.deadline = 60.0
        assert (await rasterizer.png(SMALL)).startswith(PNG)


@awaited
async def test_what_cannot_be_drawn_is_a_fault_and_the_process_stays(capfd: pytest.CaptureFixture[str]) -> None:
    async with drawing() as (rasterizer, child):
        with pytest.raises(EngineFault):
            await rasterizer.png("<svg")
        assert (await rasterizer.png(SMALL)).startswith(PNG)
        assert child in processes()
    assert "Traceback" in capfd.readouterr().err
