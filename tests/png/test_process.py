"""The process that draws pixels: the web goes on beside it, it is replaced when it ends, and it never stays behind."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from select import select
from socket import socket

import pytest
from support import event_loop
from support.raw_http import connected, read, send
from support.scenes import address, document, frame
from support.servers import Server, children, serving, to_the_last, witnessed

from gradloupe.server.figure import preview_svg
from gradloupe.server.png.client import LONGEST_QUEUE, Rasterizer
from gradloupe.server.png.process import render_png
from gradloupe.server.protocol.errors import EngineBusy, EngineFault

SMALL = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
LARGEST = "width=2400&height=2400"
PNG = b"\x89PNG"


@pytest.fixture(scope="module")
def own() -> Iterator[Server]:
    """A server that has drawn a picture."""
    with serving() as server:
        server.wait_until_ready()
        assert children(server.process.pid, "png.process") == []
        assert server.get("/ops/exp.png").content.startswith(PNG)
        yield server


def rasterizer(server: Server) -> int:
    (child,) = children(server.process.pid, "png.process")
    return child


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


def test_the_picture_is_the_one_that_is_drawn_in_process(own: Server) -> None:
    drawn = frame(document(own.url, "/ops/exp.json"))
    assert own.get("/ops/exp.png").content == render_png(preview_svg(drawn, address()))


def test_the_web_goes_on_while_pictures_are_drawn(own: Server) -> None:
    with ExitStack() as stack:
        with asleep(rasterizer(own)):
            connections = asked(stack, own, [f"/ops/exp.png?grad_output=1.{n}5&{LARGEST}" for n in range(6)])
            assert own.get("/healthz").json() == {"status": "ready"}
            assert select(connections, [], [], 0)[0] == []
        assert own.get("/healthz").json() == {"status": "ready"}
        assert len(select(connections, [], [], 0)[0]) < len(connections)
        for connection in connections:
            status, _, body = read(connection)
            assert (status, body[:4]) == (200, PNG)


def test_more_pictures_than_can_be_drawn_soon_are_refused(own: Server) -> None:
    with ExitStack() as stack:
        with asleep(rasterizer(own)):
            connections = asked(stack, own, [f"/ops/exp.png?grad_output=2.{n:02}5" for n in range(LONGEST_QUEUE + 3)])
            refused: list[socket] = []
            while len(refused) < 3:
                refused = select(connections, [], [], 60)[0]
            for connection in refused:
                status, headers, body = read(connection)
                assert (status, headers["retry-after"]) == (503, "1")
                assert b"ask again" in body
        assert [read(each)[0] for each in connections if each not in refused] == [200] * LONGEST_QUEUE


def test_a_process_that_is_killed_is_replaced(own: Server) -> None:
    first = rasterizer(own)
    os.kill(first, signal.SIGKILL)
    assert own.get("/ops/exp.png?grad_output=3").content.startswith(PNG)
    assert rasterizer(own) != first


def with_one(use: Callable[[Rasterizer], Awaitable[None]], deadline: float = 60.0) -> None:
    async def run() -> None:
        rasterizer = Rasterizer(deadline)
        try:
            await use(rasterizer)
        finally:
            await rasterizer.close()

    event_loop.run(run())


def test_one_picture_that_many_ask_for_at_once_is_drawn_once() -> None:
    async def use(rasterizer: Rasterizer) -> None:
        svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
        drawn = await asyncio.gather(*(rasterizer.png(svg) for _ in range(4 * LONGEST_QUEUE)))
        assert len({id(each) for each in drawn}) == 1

    with_one(use)


def test_a_picture_whose_process_is_killed_is_drawn_by_the_next() -> None:
    async def use(rasterizer: Rasterizer) -> None:
        others = {*children(os.getpid(), "png.process")}
        await rasterizer.png(SMALL)
        (child,) = {*children(os.getpid(), "png.process")} - others
        os.kill(child, signal.SIGSTOP)
        drawing = asyncio.create_task(rasterizer.png(SMALL))
        await asyncio.sleep(0)  # the picture is handed over
        os.kill(child, signal.SIGKILL)
        assert (await drawing).startswith(PNG)

    with_one(use)


def test_a_picture_that_takes_too_long_is_given_up_and_the_next_is_drawn() -> None:
    async def use(rasterizer: Rasterizer) -> None:
        others = {*children(os.getpid(), "png.process")}
        await rasterizer.png(SMALL)
        (child,) = {*children(os.getpid(), "png.process")} - others
        rasterizer.deadline = 0.1
        with asleep(child), pytest.raises(EngineBusy, match="not drawn within"):
            await rasterizer.png(SMALL)
        rasterizer.deadline = 60.0
        assert (await rasterizer.png(SMALL)).startswith(PNG)

    with_one(use)


def test_what_cannot_be_drawn_is_a_fault_and_the_process_stays(capfd: pytest.CaptureFixture[str]) -> None:
    async def use(rasterizer: Rasterizer) -> None:
        others = {*children(os.getpid(), "png.process")}
        with pytest.raises(EngineFault):
            await rasterizer.png("<svg")
        before = {*children(os.getpid(), "png.process")}
        assert (await rasterizer.png(SMALL)).startswith(PNG)
        assert {*children(os.getpid(), "png.process")} == before > others

    with_one(use)
    assert "Traceback" in capfd.readouterr().err


@pytest.mark.parametrize("last", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_stays_behind(last: signal.Signals) -> None:
    with witnessed() as (witness, log):
        with serving(log=log) as server, connected(server) as connection:
            server.wait_until_ready()
            assert server.get("/ops/exp.png").status_code == 200
            send(connection, f"/ops/exp.png?{LARGEST}")
            assert server.get("/healthz").status_code == 200
            server.process.send_signal(last)
            server.process.wait(20)
        log.close()
        to_the_last(witness)
