"""Metrics of the server, in the format of Prometheus."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..cache.answer_cache import AnswerCache
from ..reload.composite_engine import AnyEngine
from .connection_limits import Connections
from .responses import ResponseCache

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

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
        yield from self._requests()
        yield from self._questions()
        yield from self._caches()
        yield from self._processes()

    def _requests(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        requests = CounterMetricFamily("gradloupe_requests", "Requests answered.", labels=("route", "status"))
        for labels, number in self.metrics.requests.items():
            requests.add_metric(labels, number)
        yield requests
        durations = HistogramMetricFamily("gradloupe_request_seconds", "Time to answer.", labels=("route",))
        for route, each in self.metrics.durations.items():
            durations.add_metric((route,), each.cumulative(), each.seconds)
        yield durations
        yield CounterMetricFamily("gradloupe_sent_bytes", "Bytes of bodies sent.", value=self.metrics.sent)
        if self.visitors is not None:
            refused, here = self.visitors.refused + self.answers.shares.refused, self.visitors.number
            yield CounterMetricFamily("gradloupe_refused", "Clients that took more than their share.", value=refused)
            yield GaugeMetricFamily("gradloupe_connections", "Connections that are open.", value=here)

    def _questions(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        engine = self.engine
        questions = CounterMetricFamily("gradloupe_questions", "Questions to the worker.", labels=("outcome",))
        for outcome, number in engine.outcomes.items():
            questions.add_metric((outcome,), number)
        yield questions
        yield GaugeMetricFamily("gradloupe_waiting", "Questions under way or waiting.", value=engine.waiting)
        yield CounterMetricFamily("gradloupe_worker_restarts", "Workers that were replaced.", value=engine.restarts)
        yield GaugeMetricFamily("gradloupe_ready", "1 if a worker listens.", value=float(engine.ready))

    def _caches(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        hits = CounterMetricFamily("gradloupe_cache_hits", "Answers that were there already.", labels=("cache",))
        held = GaugeMetricFamily("gradloupe_cache_bytes", "Bytes that are kept.", labels=("cache",))
        for name, cache in (("answers", self.answers), ("bodies", self.bodies)):
            hits.add_metric((name,), cache.hits)
            held.add_metric((name,), cache.size)
        yield hits
        yield held

    def _processes(self) -> Iterator[Metric]:
        from prometheus_client.core import GaugeMetricFamily

        resident = GaugeMetricFamily("gradloupe_resident_bytes", "Memory in use.", labels=("process",))
        workers = [(f"worker {place}", pid) for place, pid in enumerate(self.engine.workers, 1)]
        for name, pid in (("server", os.getpid()), *workers):
            found = _resident(pid)
            if found is not None:
                resident.add_metric((name,), found)
        yield resident


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
