"""uvicorn's HTTP protocol with limits: of time to read and write, of a head, of connections in all and for each client.

Answers are sent as a whole.
"""

import asyncio
import resource
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address, ip_network
from typing import Any

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from .problem_details import send_problem

_GRACE = 1.0  # seconds in which a new connection is not closed for another
_RESERVED_FILES = 128  # descriptors that are no connections
_MAX_CONNECTIONS = 4096
_MIN_READ = 262_144  # bytes; a client that reads fewer in its time has stalled
_MOST_HELD = 262_144  # bytes that wait for what is written next
TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


@dataclass(frozen=True)
class ConnectionLimits:
    """Limits for one client: seconds, bytes, and its ``share`` of all connections.

    ``request`` is the time to send one, head and body; ``stalled`` the time to read some of what is sent.
    """

    request: float = 5.0
    stalled: float = 30.0
    head: int = 32_768
    share: float = 0.5
    connections: int = _MAX_CONNECTIONS


class _Whole:
    """A transport that sends at once what is written in one turn of the event loop.

    So a proxy that has the head of an answer has its body, too, and can ask somebody else where this server is killed.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held, self._size = list[bytes](), 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: Any) -> None:
        if not self._held:
            self._loop.call_soon(self.flush)
        self._held.append(bytes(data))
        self._size += len(data)
        if self._size > _MOST_HELD:
            self.flush()

    def flush(self) -> None:
        """Send what is held."""
        if self._held:
            held, self._held, self._size = b"".join(self._held), [], 0
            self._transport.write(held)

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def write_eof(self) -> None:
        self.flush()
        self._transport.write_eof()

    def get_write_buffer_size(self) -> int:
        return self._size + int(self._transport.get_write_buffer_size())


class LimitedProtocol(asyncio.Protocol):
    """Mixin in front of uvicorn's HTTP/1.1 protocols: one connection, with limits."""

    app: Any
    transport: asyncio.Transport
    cycle: Any  # uvicorn's RequestResponseCycle of the last request

    def __init__(self, visitors: "Connections", *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.app, self._app = self._answer, self.app
        self._visitors, self._limits = visitors, visitors.limits
        self._loop = asyncio.get_running_loop()
        self.peer = ""
        self.since = self._loop.time()
        self._deadline: float | None = self.since + self._limits.request  # when the request must be complete
        self._last_read = self.since  # when the client last read some of what is sent
        self._unsent = 0  # bytes, at that time
        self._head = 0  # bytes received of a head that is not complete
        self._ignoring = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(_Whole(transport, self._loop))  # type: ignore[arg-type]
        address = transport.get_extra_info("peername")
        self.peer = client_of_address(address[0]) if isinstance(address, tuple) else "here"
        if not self._visitors.enter(self):
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._visitors.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._ignoring:
            return
        before = self.cycle
        waiting = before is None or before.response_complete
        if waiting:
            self._head += len(data)
            self._deadline = self._deadline or self._loop.time() + self._limits.request
        super().data_received(data)
        if self.cycle is not before:
            self._head = 0
        elif waiting and self._head > self._limits.head:
            self._refuse(before is not None and before.more_body)
        if self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body:
            self._deadline = None

    @property
    def idle(self) -> bool:
        """Whether no complete request is being answered, and the write buffer is empty."""
        waiting = self.cycle is None or self.cycle.response_complete or self.cycle.more_body
        return waiting and not self.transport.get_write_buffer_size()

    def look(self, now: float) -> None:
        """Close the connection if its request is late, or the client reads nothing."""
        unsent = self.transport.get_write_buffer_size()
        if not unsent or unsent > self._unsent or self._unsent - unsent >= _MIN_READ:
            self._last_read, self._unsent = now, unsent
        elif now - self._last_read > self._limits.stalled:
            self.transport.abort()
        if self._deadline is not None and now > self._deadline:
            self.leave()

    def leave(self) -> None:
        """Close the connection, once the write buffer is sent."""
        self.transport.close()

    def _refuse(self, answered: bool) -> None:
        """Answer that a head is too long; the rest is ignored, as a reset would discard that answer."""
        self._ignoring = True
        if not answered:
            self.transport.write(TOO_LONG)
        self.transport.write_eof()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        head = sum(len(name) + len(value) + 4 for name, value in scope["headers"])
        if head + len(scope["raw_path"]) + len(scope["query_string"]) > self._limits.head:
            detail = f"The head of a request may have {self._limits.head} bytes; this one has more, so leave some out."
            await send_problem(send, scope["path"], 431, detail, connection="close")
            return
        try:
            await self._app(scope, receive, send)
        finally:
            self.since = self._loop.time()


class Connections:
    """All open connections, checked twice a second while there are any."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._connections: dict[str, dict[LimitedProtocol, None]] = {}
        self._capacity = min(limits.connections, _available_files())
        self.number = 0
        self.refused = 0
        self._interval = min(0.5, limits.request / 4, limits.stalled / 4)
        self._next_check: asyncio.TimerHandle | None = None

    def enter(self, visitor: LimitedProtocol) -> bool:
        """Whether there is room for this connection, if need be by closing an idle one."""
        same = self._connections.get(visitor.peer, {})
        if len(same) >= self._capacity * self.limits.share:
            fits = self._make_room(list(same), visitor.since)
        else:
            fits = self.number < self._capacity or self._make_room(self._all(), visitor.since)
        if not fits:
            self.refused += 1
            return False
        self._connections.setdefault(visitor.peer, {})[visitor] = None
        self.number += 1
        if self._next_check is None:
            self._look()
        return True

    def leave(self, visitor: LimitedProtocol) -> None:
        """Forget this connection, if it was admitted."""
        same = self._connections.get(visitor.peer, {})
        if visitor in same:
            del same[visitor]
            self.number -= 1
        if not same:
            self._connections.pop(visitor.peer, None)

    def _all(self) -> list[LimitedProtocol]:
        return [each for those in self._connections.values() for each in those]

    def _make_room(self, those: list[LimitedProtocol], now: float) -> bool:
        idle = next((each for each in those if each.since < now - _GRACE and each.idle), None)
        if idle is not None:
            self.leave(idle)
            idle.leave()
        return idle is not None

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        self._next_check = loop.call_later(self._interval, self._look) if self._connections else None
        for each in self._all():
            each.look(loop.time())


def _available_files() -> int:
    """How many connections the limit of descriptors allows, once it is raised as far as it may be."""
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_CONNECTIONS + _RESERVED_FILES
    if files != resource.RLIM_INFINITY and files < wanted:
        files = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))
    return _MAX_CONNECTIONS if files == resource.RLIM_INFINITY else max(16, files - _RESERVED_FILES)


def limited_protocol(visitors: Connections, protocol: type[asyncio.Protocol] = AutoHTTPProtocol) -> Any:
    """A value for uvicorn's option ``http``: a protocol whose connections are registered in ``visitors``."""
    return partial(type("LimitedConnection", (LimitedProtocol, protocol), {}), visitors)


def client_of_address(host: str) -> str:
    """The client that an address stands for: in IPv6 its /64 network; what is no address stands for itself."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 4:
        return host
    return str(address.ipv4_mapped or ip_network(f"{address}/64", strict=False))
