"""How soon page and first curve are there, and what memory waits, against a server that imports torch first."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from client import Client
from machine import free_cores
from memory import Memory, of_family, of_torch_alone
from report import Report, Table, Target

ROUNDS = 7
OURS = [sys.executable, "-m", "gradloupe", "--port", "0"]
EAGER = [sys.executable, str(Path(__file__).with_name("eager.py"))]
OP, COUNT = "clipped_relu", 1000
LATER = 40


@dataclass(frozen=True)
class Start:
    """Seconds from the launch of a fresh server to its first page and its first curve."""

    page: float
    curve: float


@dataclass(frozen=True)
class Life:
    """What a fresh server is like: seconds of the slowest page while torch loads, of the first evaluation when
    it is ready, and of a later one; and its memory."""

    slowest: float
    first: float
    later: float
    memory: Memory


def measure() -> Report:
    """The tables of starts and of memory; T14, T15 and T18."""
    free = free_cores()
    starts: dict[str, list[Start]] = {"ours": [], "eager": []}
    lives: dict[str, list[Life]] = {"ours": [], "eager": []}
    for _ in range(ROUNDS):
        for name, command in (("ours", OURS), ("eager", EAGER)):
            starts[name].append(_start(command))
            lives[name].append(_life(command))
    both = min(free, free_cores()) > 1.8
    alone = of_torch_alone()
    tables = [_timed(starts, lives), _weighed(lives, alone)]
    return Report(tables, [*_of_starts(starts, lives, both), _of_memory(lives["ours"], alone)])


def _start(command: list[str]) -> Start:
    began = time.perf_counter()
    with _launched(command) as client:
        _ask(client, f"/ops/{OP}?count={COUNT}")
        page = time.perf_counter() - began
        _ask(client, f"/ops/{OP}.json?count={COUNT}")
        return Start(page, time.perf_counter() - began)


def _life(command: list[str]) -> Life:
    with _launched(command) as client:
        pages = []
        _ask(client, f"/ops/{OP}")
        while client.get("/healthz").body != b'{"status": "ready"}':
            pages.append(_ask(client, f"/ops/{OP}"))
        evaluations = [_ask(client, f"/ops/{OP}.json?count={COUNT}&grad_output={n}") for n in range(1, LATER + 2)]
        return Life(max(pages, default=0.0), evaluations[0], median(evaluations[1:]), of_family(client.pid))


@contextmanager
def _launched(command: list[str]) -> Iterator[Client]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = next(word for word in process.stdout.readline().split() if word.startswith("http://"))
        try:
            with closing(Client(url, process.pid)) as client:
                yield client
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)


def _ask(client: Client, address: str) -> float:
    """Seconds of one request."""
    began = time.perf_counter()
    if client.get(address).status != 200:
        raise RuntimeError(f"{address} did not answer")
    return time.perf_counter() - began


def _ratio(starts: dict[str, list[Start]], what: str) -> float:
    pairs = zip(starts["ours"], starts["eager"], strict=True)
    return median(getattr(ours, what) / getattr(eager, what) for ours, eager in pairs)


def _timed(starts: dict[str, list[Start]], lives: dict[str, list[Life]]) -> Table:
    rows = [
        (
            name,
            f"{1e3 * median(each.page for each in starts[name]):.0f} ms",
            f"{1e3 * median(each.curve for each in starts[name]):.0f} ms",
            f"{1e3 * median(each.slowest for each in lives[name]):.0f} ms" if name == "ours" else "no page yet",
            f"{1e3 * median(each.first for each in lives[name]):.1f} ms",
            f"{1e3 * median(each.later for each in lives[name]):.1f} ms",
        )
        for name in starts
    ]
    rows.append(("**ours / eager**", *(f"**{_ratio(starts, what):.2f}**" for what in ("page", "curve")), "", "", ""))
    headings = (
        "server",
        "first page",
        "first curve",
        "slowest page while torch loads",
        "first evaluation when ready",
        "a later one",
    )
    note = (
        f"Medians of {ROUNDS} fresh processes each, in turns, from the launch. *eager* is the same app in one process "
        "that imports torch before it listens. Our first page says that torch is loading, and fetches its curve itself."
    )
    return Table("Start (T14, T15)", headings, rows, note)


def _weighed(lives: dict[str, list[Life]], alone: Memory) -> Table:
    found = {
        "`import torch` alone": alone,
        "eager": _middle(lives["eager"]),
        "**ours**, web process, worker and what it is a copy of": _middle(lives["ours"]),
    }
    rows = [
        (
            name,
            f"{each.rss:.0f} MiB",
            f"{each.rss / alone.rss:.2f}",
            f"{each.pss:.0f} MiB",
            f"{each.pss / alone.pss:.2f}",
        )
        for name, each in found.items()
    ]
    note = "PSS counts a page that several processes share once. After 41 evaluations of 1000 points."
    return Table("Memory at rest (T18)", ("", "RSS", "× torch alone", "PSS", "× torch alone"), rows, note)


def _middle(lives: list[Life]) -> Memory:
    return Memory(median(each.memory.rss for each in lives), median(each.memory.pss for each in lives))


def _of_starts(starts: dict[str, list[Start]], lives: dict[str, list[Life]], both: bool) -> list[Target]:
    page, curve = _ratio(starts, "page"), _ratio(starts, "curve")
    slowest = 1e3 * median(each.slowest for each in lives["ours"])
    first = median(each.first / each.later for each in lives["ours"])
    most, when = (0.9, "two free cores") if both else (1.15, "cores in use by others")
    return [
        Target("T14", "first page at most 0.35 × eager", f"{page:.2f}", page <= 0.35),
        Target("T14", f"first curve at most {most:g} × eager ({when})", f"{curve:.2f}", curve <= most),
        Target("T14", "a page while torch loads: at most 30 ms", f"{slowest:.0f} ms", slowest <= 30),
        Target("T15", "first evaluation at most 3 × a later one", f"{first:.1f}", first <= 3),
    ]


def _of_memory(lives: list[Life], alone: Memory) -> Target:
    ours = _middle(lives)
    measured = f"{ours.pss / alone.rss:.2f}"
    wanted = "at most 1.3 × the RSS of `import torch`, what our processes share counted once"
    return Target("T18", wanted, measured, ours.pss <= 1.3 * alone.rss)
