"""ASGI middleware on where the site is: rejects foreign names in the Host header, against DNS rebinding, and takes the
path of the site off an address, for proxies that pass it on whole.
"""

import asyncio
import re
import socket
from contextlib import suppress
from functools import lru_cache
from ipaddress import ip_address
from typing import Literal
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from ..config.settings import Settings
from .problem_details import send_problem

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(?P<port>[0-9]{1,5})?)?", re.IGNORECASE)
_BAD_HOST = "A request names one host in its Host header, as in Host: localhost; this one does not."
_PATIENCE = 2.0  # seconds for the system to say the full name of this machine


_Kind = Literal["ours", "elsewhere", "nothing"]  # what a Host header names


class AllowedHosts:
    """Lets through requests to an IP address, to a name of this machine, or to one the operator has given."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        names = {"localhost", "*.localhost", *settings.name, *_machine_names(socket.gethostname())}
        self._names = names | {urlsplit(settings.url).hostname or "localhost"}
        self._full_name: asyncio.Task[None] | None = None
        self._kind = lru_cache(1024)(self._kind_of_host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        kind = self._kind(hosts[0]) if len(hosts) == 1 else "nothing"
        if kind == "elsewhere":
            await self._look_up_full_name()
            kind = self._kind(hosts[0])
        if kind == "ours":
            await self.app(scope, receive, send)
        elif kind == "nothing":
            await send_problem(send, scope["path"], 400, _BAD_HOST)
        else:
            name = _name(hosts[0].decode("latin-1"))[:253]
            fix = f"whoever runs it can start it with --name {name}, or with GRADLOUPE_NAME={name} in the environment"
            await send_problem(send, scope["path"], 421, f"This server does not answer to the name {name}; {fix}.")

    def _kind_of_host(self, host: bytes) -> _Kind:
        match = _HOST.fullmatch(host.decode("latin-1"))
        if match is None or int(match["port"] or 0) > 65535:
            return "nothing"
        name = _name(match["name"])
        if name.startswith("["):
            return "ours" if ":" in name and _is_address(name[1:-1]) else "nothing"
        if not name or ".." in name or name.startswith("."):
            return "nothing"
        wild = any(each.startswith("*.") and name.endswith(each[1:]) for each in self._names)
        return "ours" if wild or name in self._names or _is_address(name) else "elsewhere"

    async def _look_up_full_name(self) -> None:
        """Learn the full name of this machine, once; only when needed, as that may query the network."""
        if self._full_name is None:
            self._full_name = asyncio.create_task(self._add_full_name())
        await asyncio.wait({self._full_name}, timeout=_PATIENCE)

    async def _add_full_name(self) -> None:
        with suppress(OSError, UnicodeError):
            self._names |= _machine_names(await asyncio.to_thread(socket.getfqdn))
        self._kind.cache_clear()


def _machine_names(name: str) -> set[str]:
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


class SubPath:
    """Answers at ``root`` what stands at the top; that too, as most proxies take the path off themselves."""

    def __init__(self, app: ASGIApp, root: str) -> None:
        self.app = app
        self._root = root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and f"{scope['path']}/".startswith(f"{self._root}/"):
            scope["path"] = scope["path"].removeprefix(self._root) or "/"
            scope["raw_path"] = scope["raw_path"].removeprefix(self._root.encode()) or b"/"
        await self.app(scope, receive, send)
