"""Metrics of the server, in the format of Prometheus, and the ASGI middleware that counts and times every request, and
writes it to the access log with its request id.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..cache.answer_cache import AnswerCache
from ..reload.composite_engine import AnyEngine
from .access_log import AccessLog
from .connection_limits import Connections
from .problem_details import send_problem
from .responses import ResponseCache

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

_Family = tuple[str, str, tuple[str, ...], Mapping[Any, int]]
_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds


@dataclass
class Durations:
    """A histogram of request durations, with their sum."""

    numbers: list[int] = field(default_factory=lambda: [0] * (len(_BOUNDS) + 1))
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        self.numbers[bisect_left(_BOUNDS, seconds)] += 1
        self.seconds += seconds

    def cumulative(self) -> list[tuple[str, float]]:
        """Buckets as Prometheus counts them: each bound with the number of requests up to it."""
        total, buckets = 0, []
        for bound, number in zip((*map(str, _BOUNDS), "+Inf"), self.numbers, strict=True):
            total += number
            buckets.append((bound, float(total)))
        return buckets


class Metrics:
    """Counters of finished requests."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str]] = Counter()
        self.durations: defaultdict[str, Durations] = defaultdict(Durations)
        self.sent = 0  # bytes of bodies

    def count(self, route: str, status: int, seconds: float, size: int) -> None:
        self.requests[route, f"{status // 100}xx"] += 1
        self.durations[route].add(seconds)
        self.sent += size


@dataclass(frozen=True)
class Collector:
    """Collects all metrics when Prometheus scrapes them."""

    metrics: Metrics
    engine: AnyEngine
    answers: AnswerCache
    bodies: ResponseCache
    visitors: Connections | None

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        durations = HistogramMetricFamily("gradloupe_request_seconds", "Time to answer.", labels=("route",))
        for route, each in self.metrics.durations.items():
            durations.add_metric((route,), each.cumulative(), each.seconds)
        yield durations
        for kind, families in ((CounterMetricFamily, self._counters()), (GaugeMetricFamily, self._gauges())):
            for name, says, labels, values in families:
                family = kind(f"gradloupe_{name}", says, labels=labels)
                for label, value in values.items():
                    family.add_metric(label, value)
                yield family

    def _counters(self) -> Iterator[_Family]:
        """What only grows: name, description, labels, and the number for each of their values."""
        engine, caches = self.engine, self._caches()
        yield "requests", "Requests answered.", ("route", "status"), self.metrics.requests
        yield "sent_bytes", "Bytes of bodies sent.", (), {(): self.metrics.sent}
        yield "questions", "Questions to the workers.", ("outcome",), _each(engine.outcomes)
        yield "worker_restarts", "Workers that were replaced.", (), {(): engine.restarts}
        yield "cache_hits", "Answers that were there already.", ("cache",), {each: kept.hits for each, kept in caches}
        if self.visitors is not None:
            refused = self.visitors.refused + self.answers.shares.refused
            yield "refused", "Clients that took more than their share.", (), {(): refused}

    def _gauges(self) -> Iterator[_Family]:
        """The same of what is at this moment."""
        processes = {"server": os.getpid()} | {
            f"worker {place}": pid for place, pid in enumerate(self.engine.workers, 1)
        }
        resident = {name: _resident(pid) for name, pid in processes.items()}
        yield "waiting", "Questions under way or waiting.", (), {(): self.engine.waiting}
        yield "ready", "1 if a worker listens.", (), {(): int(self.engine.ready)}
        yield "cache_bytes", "Bytes that are kept.", ("cache",), {each: kept.size for each, kept in self._caches()}
        yield "resident_bytes", "Memory in use.", ("process",), _each(resident)
        if self.visitors is not None:
            yield "connections", "Connections that are open.", (), {(): self.visitors.number}

    def _caches(self) -> list[tuple[tuple[str], AnswerCache | ResponseCache]]:
        return [(("answers",), self.answers), (("bodies",), self.bodies)]


def _each(values: Mapping[str, int | None]) -> dict[tuple[str, ...], int]:
    """Numbers by one label, without those that are not known."""
    return {(label,): value for label, value in values.items() if value is not None}


def prometheus_text(collector: Collector) -> tuple[bytes, str]:
    """The metrics as text, and its media type."""
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    return generate_latest(registry), CONTENT_TYPE_LATEST


def _resident(pid: int) -> int | None:
    """Resident bytes, or None where there is no /proc."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


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
