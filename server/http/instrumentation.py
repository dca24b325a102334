"""ASGI middleware: counts and times every request, and writes it to the access log with its request id."""

import asyncio
import re
import secrets
from time import perf_counter

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .access_log import AccessLog
from .metrics import Metrics
from .problem_details import send_problem

_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH")
_CLIENT_LEFT = 499  # nginx's status for a client that disconnects before the answer
_SHUTTING_DOWN = "This server is shutting down; ask again in a second, when another one has started."
REQUEST_ID = re.compile(rb"[0-9a-f]{8,32}")  # an X-Request-ID that is accepted


class Instrumentation:
    """In front of all other middleware but the security headers."""

    def __init__(self, app: ASGIApp, metrics: Metrics, log: AccessLog | None) -> None:
        self.app = app
        self._metrics = metrics
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status, size = perf_counter(), _CLIENT_LEFT, 0
        number = "" if self._log is None else _request_id(scope)

        async def counted_send(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                if number:
                    MutableHeaders(scope=message)["x-request-id"] = number
            else:
                size += len(message.get("body", b""))
            await send(message)

        try:
            await self.app(scope, receive, counted_send)
        except asyncio.CancelledError:
            if status != _CLIENT_LEFT:
                raise
            await send_problem(counted_send, scope["path"], 503, _SHUTTING_DOWN, retry_after="1")
        except Exception:
            status = 500
            raise
        finally:
            seconds, route = perf_counter() - began, getattr(scope.get("route"), "path", "")
            method = scope.get("asked", scope["method"])
            size = 0 if method == "HEAD" else size
            self._metrics.count(route, status, seconds, size)
            if self._log is not None:
                self._log.write(method if method in _METHODS else "other", route, status, seconds, size, number)


def _request_id(scope: Scope) -> str:
    """The proxy's X-Request-ID, or a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and REQUEST_ID.fullmatch(value):
            return str(value, "ascii")
    return secrets.token_hex(8)
