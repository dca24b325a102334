"""Slow clients: half a request, a response nobody reads, too many at once. None of them keeps the others waiting."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from support.own_server import showing
from support.raw_http import connected, read, send
from support.servers import serving
from support.waiting import until
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from gradloupe.server.http.connection_limits import ConnectionLimits, Connections, limited_protocol

PROTOCOLS = pytest.mark.parametrize("protocol", [H11Protocol, HttpToolsProtocol])
SHORT = ConnectionLimits(request=0.4, stalled=0.4)
BIG = bytes(32 * 2**20)


@dataclass
class Answering:
    """A server of next to nothing: ``/big`` is 32 MiB, ``/held`` is answered when the test says so."""

    visitors: Connections
    url: str = ""
    release: asyncio.Event = field(default_factory=asyncio.Event)
    held: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = BIG if scope["path"] == "/big" else b"ok"
        if scope["path"] == "/held":
            self.held.release()
            await self.release.wait()
        length = [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": length})
        await send({"type": "http.response.body", "body": body})


@contextmanager
def answering(limits: ConnectionLimits, protocol: type[asyncio.Protocol]) -> Iterator[Answering]:
    app = Answering(Connections(limits))
    config = uvicorn.Config(
        app,
        http=limited_protocol(app.visitors, protocol),
        h11_max_incomplete_event_size=2 * limits.head,
        ws="none",
        lifespan="off",
        log_level="error",
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        app.url = "http://{}:{}".format(*listener.getsockname())
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield app
        finally:
            app.release.set()
            server.should_exit = True
            thread.join(60)


def ends(connection: socket.socket, within: float = 60.0) -> bytes:
    """What arrives until the other side ends the connection; raises ``TimeoutError`` when it does not."""
    connection.settimeout(within)
    received = b""
    try:
        while some := connection.recv(65536):
            received += some
    except ConnectionResetError:
        pass
    return received


def in_time(server: Answering, stack: ExitStack, try_: Callable[[socket.socket], bool]) -> socket.socket:
    """A connection whose request has arrived before it was given up, be this machine ever so busy."""

    def attempt() -> socket.socket | None:
        connection = stack.enter_context(connected(server))
        try:
            return connection if try_(connection) else None
        except OSError:
            return None

    found = until(attempt)
    assert found
    return found


def drip(connection: socket.socket) -> None:
    """Send a header now and then, as long as the other side listens."""
    connection.settimeout(0.05)
    while True:
        connection.sendall(b"X: y\r\n")
        with suppress(TimeoutError):
            if not connection.recv(10):
                raise BrokenPipeError


@PROTOCOLS
@pytest.mark.parametrize(
    "half",
    [
        b"",
        b"GET / HT",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: ",
        b"POST /held HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf",
    ],
)
def test_half_a_request_is_not_waited_for(protocol: type[asyncio.Protocol], half: bytes) -> None:
    with answering(SHORT, protocol) as server, connected(server) as connection:
        connection.sendall(half)
        assert ends(connection) == b""


@PROTOCOLS
def test_a_second_request_has_as_long_as_the_first_and_dripping_does_not_help(protocol: type[asyncio.Protocol]) -> None:
    def answered(connection: socket.socket) -> bool:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        return connection.recv(65536).endswith(b"ok")

    with answering(SHORT, protocol) as server, ExitStack() as stack:
        connection = in_time(server, stack, answered)
        connection.sendall(b"GET / HTTP/1.1\r\n")
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            drip(connection)


@PROTOCOLS
def test_an_answer_that_takes_its_time_is_waited_for(protocol: type[asyncio.Protocol]) -> None:
    with answering(SHORT, protocol) as server, ExitStack() as stack:

        def held(connection: socket.socket) -> bool:
            send(connection, "/held")
            return server.held.acquire(timeout=5)

        slow = in_time(server, stack, held)
        half = stack.enter_context(connected(server))
        half.sendall(b"GET /")
        ends(half)  # by now a request would have been given up
        server.release.set()
        assert read(slow)[::2] == (200, b"ok")


@PROTOCOLS
def test_a_client_that_does_not_read_is_dropped_and_one_that_reads_slowly_is_not(
    protocol: type[asyncio.Protocol],
) -> None:
    with (
        answering(ConnectionLimits(stalled=3.0), protocol) as server,
        connected(server) as asleep,
        connected(server) as slow,
    ):
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        slow.settimeout(60)
        send(asleep, "/big")
        send(slow, "/big")
        received, alone, never = 0, 0, threading.Event()
        while received < len(BIG):
            some = slow.recv(262_144)
            assert some
            received += len(some)
            if server.visitors.number == 2:  # in pieces, for as long as a client may stall
                never.wait(0.04)
            else:
                alone += 1
        assert alone
        assert len(ends(asleep)) < len(BIG)


@PROTOCOLS
def test_a_head_without_end_is_cut_off_and_a_long_one_is_refused(protocol: type[asyncio.Protocol]) -> None:
    with answering(ConnectionLimits(), protocol) as server:
        with connected(server) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nX: " + b"y" * 40_000)
            assert b" 431 " in ends(connection)
        with connected(server) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 10_000 + b"\r\n")
            assert b" 431 " in ends(connection)
        with connected(server) as connection:
            connection.sendall(b"GET /" + b"y" * 30_000 + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert b" 200 " in ends(connection)


@PROTOCOLS
def test_an_idle_connection_makes_room_for_a_new_one(protocol: type[asyncio.Protocol]) -> None:
    limits = ConnectionLimits(request=60, connections=32)
    with answering(limits, protocol) as server, ExitStack() as stack:
        half_open = [stack.enter_context(connected(server)) for _ in range(16)]
        for connection in half_open:
            connection.sendall(b"GET / HTTP/1.1\r\n")
        while True:  # until they are old enough to be sent away
            with connected(server) as visitor:
                visitor.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                if b" 200 " in ends(visitor):
                    break
        assert ends(half_open[0]) == b""


def test_520_half_open_connections_do_not_stop_the_service() -> None:
    with serving("--requests-per-peer", "0") as server, ExitStack() as stack:
        server.wait_until_ready()
        half_open = [stack.enter_context(connected(server)) for _ in range(520)]
        for connection in half_open:
            connection.sendall(b"GET /ops/exp HTTP/1.1\r\nHost: loc")
        assert server.get("/ops/exp.json").status_code == 200
        for connection in half_open:
            assert ends(connection) == b""
        assert server.get("/ops/exp.json").status_code == 200


def test_a_household_with_a_network_of_its_own_is_one_peer(tmp_path: Path) -> None:
    behind_a_proxy = ("--forwarded-allow-ips", "127.0.0.1", "--requests-per-peer", "1")
    households = [["2001:db8:0:1::5", "2001:db8:0:1:ffff::7"], ["::ffff:192.0.2.1", "192.0.2.1"], ["192.0.2.2"]]
    households += [["fe80::1%eth0", "fe80::2"], ["2001:db8:0:2::5"]]
    with showing(tmp_path, *behind_a_proxy) as own, ExitStack() as stack:
        for members in households:
            for place, address in enumerate(members):
                page = stack.enter_context(connected(own))
                page.sendall(f"GET /events HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: {address}\r\n\r\n".encode())
                assert page.recv(12) == (b"HTTP/1.1 503" if place else b"HTTP/1.1 200"), address


@PROTOCOLS
def test_an_answer_is_sent_as_a_whole_so_that_no_proxy_has_a_head_without_its_body(protocol: Any) -> None:
    with answering(SHORT, protocol) as app:
        for _ in range(50):
            with connected(app) as client:
                send(client, "/")
                assert client.recv(65536).endswith(b"\r\n\r\nok")
