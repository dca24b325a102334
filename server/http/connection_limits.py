"""Limits on open connections, in all and for each client address; closes idle ones when there is no more room."""

import asyncio
import resource
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Protocol

_GRACE = 1.0  # seconds in which a new connection is not closed for another
_RESERVED_FILES = 128  # descriptors that are no connections
_MAX_CONNECTIONS = 4096


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


class Connection(Protocol):
    """One open connection."""

    peer: str
    since: float  # when it was opened, or when it was last answered

    @property
    def idle(self) -> bool:
        """Whether no request of it is being answered."""

    def look(self, now: float) -> None:
        """Close the connection if it has timed out."""

    def leave(self) -> None:
        """Close the connection."""


class Connections:
    """All open connections, checked twice a second while there are any."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._connections: dict[str, dict[Connection, None]] = {}
        self._capacity = min(limits.connections, _available_files())
        self.number = 0
        self.refused = 0
        self._interval = min(0.5, limits.request / 4, limits.stalled / 4)
        self._next_check: asyncio.TimerHandle | None = None

    def enter(self, visitor: Connection) -> bool:
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

    def leave(self, visitor: Connection) -> None:
        """Forget this connection, if it was admitted."""
        same = self._connections.get(visitor.peer, {})
        if visitor in same:
            del same[visitor]
            self.number -= 1
        if not same:
            self._connections.pop(visitor.peer, None)

    def _all(self) -> list[Connection]:
        return [each for those in self._connections.values() for each in those]

    def _make_room(self, those: list[Connection], now: float) -> bool:
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


def client_of_address(host: str) -> str:
    """The client that an address stands for: in IPv6 its /64 network; what is no address stands for itself."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 4:
        return host
    return str(address.ipv4_mapped or ip_network(f"{address}/64", strict=False))
