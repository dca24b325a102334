"""How soon page and first curve are there, and what memory waits, against a server that imports torch first."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from statistics import median

from client import Client
from machine import free_cores
from processes import Memory, announced_server, family_memory, process_memory, python_script
from report import Report, Table, Target

ROUNDS = 7
OURS = [sys.executable, "-m", "gradloupe", "--port", "0"]
EAGER = python_script("single_process_server.py")
OP, COUNT = "clipped_relu", 1000
EVALUATIONS = 40


@dataclass(frozen=True)
class Start:
    """Seconds from the launch of a fresh server to its first page and its first curve."""

    page: float
    curve: float


@dataclass(frozen=True)
class Running:
    """What a fresh server is like: seconds of the slowest page while torch loads, of the first evaluation when
    it is ready, and of a later one; and its memory."""

    slowest: float
    first: float
    later: float
    memory: Memory


def measure() -> Report:
    """The tables of starts and of memory."""
    free = free_cores()
    starts: dict[str, list[Start]] = {"ours": [], "eager": []}
    running: dict[str, list[Running]] = {"ours": [], "eager": []}
    for _ in range(ROUNDS):
        for name, command in (("ours", OURS), ("eager", EAGER)):
            starts[name].append(_start(command))
            running[name].append(_running(command))
    both = min(free, free_cores()) > 1.8
    alone = _torch_alone()
    tables = [_timed(starts, running), _weighed(running, alone)]
    return Report(tables, [*_start_targets(starts, running, both), _memory_target(running["ours"], alone)])


def _start(command: list[str]) -> Start:
    began = time.perf_counter()
    with _launched(command) as client:
        _ask(client, f"/ops/{OP}?count={COUNT}")
        page = time.perf_counter() - began
        _ask(client, f"/ops/{OP}.json?count={COUNT}")
        return Start(page, time.perf_counter() - began)


def _running(command: list[str]) -> Running:
    with _launched(command) as client:
        pages = []
        _ask(client, f"/ops/{OP}")
        while client.get("/healthz").body != b'{"status": "ready"}':
            pages.append(_ask(client, f"/ops/{OP}"))
        evaluations = [_ask(client, f"/ops/{OP}.json?count={COUNT}&grad_output={n}") for n in range(1, EVALUATIONS + 2)]
        return Running(max(pages, default=0.0), evaluations[0], median(evaluations[1:]), family_memory(client.pid))


@contextmanager
def _launched(command: list[str]) -> Iterator[Client]:
    with announced_server(command) as (url, pid), closing(Client(url, pid)) as client:
        yield client


def _torch_alone() -> Memory:
    """The memory of a Python that has imported torch and does nothing else."""
    command = [sys.executable, "-c", "import sys, torch; print(flush=True); sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        memory = process_memory(process.pid)
        process.stdin.close()
    return memory


def _ask(client: Client, address: str) -> float:
    """Seconds of one request."""
    began = time.perf_counter()
    if client.get(address).status != 200:
        raise RuntimeError(f"{address} did not answer")
    return time.perf_counter() - began


def _ratio(starts: dict[str, list[Start]], what: str) -> float:
    pairs = zip(starts["ours"], starts["eager"], strict=True)
    return median(getattr(ours, what) / getattr(eager, what) for ours, eager in pairs)


def _timed(starts: dict[str, list[Start]], running: dict[str, list[Running]]) -> Table:
    rows = [
        (
            name,
            f"{1e3 * median(each.page for each in starts[name]):.0f} ms",
            f"{1e3 * median(each.curve for each in starts[name]):.0f} ms",
            f"{1e3 * median(each.slowest for each in running[name]):.0f} ms" if name == "ours" else "no page yet",
            f"{1e3 * median(each.first for each in running[name]):.1f} ms",
            f"{1e3 * median(each.later for each in running[name]):.1f} ms",
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
    return Table("Start", headings, rows, note)


def _weighed(running: dict[str, list[Running]], alone: Memory) -> Table:
    found = {
        "`import torch` alone": alone,
        "eager": _middle(running["eager"]),
        "**ours**, web process, worker and what it is a copy of": _middle(running["ours"]),
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
    return Table("Memory at rest", ("", "RSS", "× torch alone", "PSS", "× torch alone"), rows, note)


def _middle(running: list[Running]) -> Memory:
    return Memory(median(each.memory.rss for each in running), median(each.memory.pss for each in running))


def _start_targets(starts: dict[str, list[Start]], running: dict[str, list[Running]], both: bool) -> list[Target]:
    page, curve = _ratio(starts, "page"), _ratio(starts, "curve")
    slowest = 1e3 * median(each.slowest for each in running["ours"])
    first = median(each.first / each.later for each in running["ours"])
    most, when = (0.9, "two free cores") if both else (1.15, "cores in use by others")
    return [
        Target("first page at most 0.35 × eager", f"{page:.2f}", page <= 0.35),
        Target(f"first curve at most {most:g} × eager ({when})", f"{curve:.2f}", curve <= most),
        Target("a page while torch loads: at most 30 ms", f"{slowest:.0f} ms", slowest <= 30),
        Target("first evaluation at most 3 × a later one", f"{first:.1f}", first <= 3),
    ]


def _memory_target(running: list[Running], alone: Memory) -> Target:
    ours = _middle(running)
    measured = f"{ours.pss / alone.rss:.2f}"
    wanted = "at most 1.3 × the RSS of `import torch`, what our processes share counted once"
    return Target(wanted, measured, ours.pss <= 1.3 * alone.rss)
