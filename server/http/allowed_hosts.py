"""ASGI middleware: rejects foreign names in the Host header, against DNS rebinding."""

from __future__ import annotations

import asyncio
import re
import socket
from contextlib import suppress
from enum import Enum
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from ..config.settings import Settings
from .problem_details import send_problem

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(?P<port>[0-9]{1,5})?)?", re.IGNORECASE)
_ONE_HOST = "A request names one host in its Host header, as in Host: localhost; this one does not."
_PATIENCE = 2.0  # seconds for the system to say the full name of this machine


class _Kind(Enum):
    """What a Host header names."""

    OURS = 1
    ELSEWHERE = 2
    NOTHING = 3


class AllowedHosts:
    """Lets through requests to an IP address, to a name of this machine, or to one the operator has given."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        names = {"localhost", "*.localhost", *settings.names, *_own(socket.gethostname())}
        self._names = names | {urlsplit(settings.url).hostname or "localhost"}
        self._full: asyncio.Task[None] | None = None
        self._kind = lru_cache(1024)(self._judged)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        kind = self._kind(hosts[0]) if len(hosts) == 1 else _Kind.NOTHING
        if kind is _Kind.ELSEWHERE:
            await self._ask_the_system()
            kind = self._kind(hosts[0])
        if kind is _Kind.OURS:
            await self.app(scope, receive, send)
        elif kind is _Kind.NOTHING:
            await send_problem(send, scope["path"], 400, _ONE_HOST)
        else:
            name = _name(hosts[0].decode("latin-1"))[:253]
            fix = f"whoever runs it can start it with --name {name}, or with GRADLOUPE_NAME={name} in the environment"
            await send_problem(send, scope["path"], 421, f"This server does not answer to the name {name}; {fix}.")

    def _judged(self, host: bytes) -> _Kind:
        found = _HOST.fullmatch(host.decode("latin-1"))
        if found is None or int(found["port"] or 0) > 65535:
            return _Kind.NOTHING
        name = _name(found["name"])
        if name.startswith("["):
            return _Kind.OURS if ":" in name and _is_address(name[1:-1]) else _Kind.NOTHING
        if not name or ".." in name or name.startswith("."):
            return _Kind.NOTHING
        wild = any(each.startswith("*.") and name.endswith(each[1:]) for each in self._names)
        return _Kind.OURS if wild or name in self._names or _is_address(name) else _Kind.ELSEWHERE

    async def _ask_the_system(self) -> None:
        """Learn the full name of this machine, once; only when needed, as that may query the network."""
        if self._full is None:
            self._full = asyncio.create_task(self._learn())
        await asyncio.wait({self._full}, timeout=_PATIENCE)

    async def _learn(self) -> None:
        with suppress(OSError, UnicodeError):
            self._names |= _own(await asyncio.to_thread(socket.getfqdn))
        self._kind.cache_clear()


def _own(name: str) -> set[str]:
    """The names of a machine with this host name, those in the local network (mDNS) included."""
    name = name.lower()
    return {each for each in (name, name.partition(".")[0], f"{name.partition('.')[0]}.local") if each}


def _name(host: str) -> str:
    """The name in lower case, without port and final dot."""
    name = host.lower() if host.startswith("[") else host.lower().partition(":")[0]
    return name.removesuffix(".")


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
