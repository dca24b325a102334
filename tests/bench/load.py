"""What the server bears: requests a second and how long they take, for many clients at once, and beyond its queue."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from client import Client
from front import front
from report import Report, Table
from support.servers import Server, serving

CLIENTS, MANY = 32, 192
LASTS, ROUNDS = 2.0, 3
OP = "clipped_relu"
NUMBERS = f"/ops/{OP}.json?count=1000"
BROWSER = {"Accept-Encoding": "gzip, deflate, br, zstd"}
NOTE = (
    f"{CLIENTS} clients, each with a kept connection and its next request as soon as the last is answered; "
    f"{ROUNDS} rounds of {LASTS:g} s each, in turns. The clients are one process on the same machine, so that server, "
    "worker and they share its cores. Counted are the replies that have what was asked for; who is told to come back "
    "later does. CPU is that of web process and worker, by any reply."
)
BEHIND = (
    "The same through nginx as it is shipped, without its bounds for one client. nginx shares the cores too; CPU is "
    "that of the servers behind it."
)


@dataclass(frozen=True)
class Way:
    """What is asked, how, and by how many at once."""

    address: str
    headers: dict[str, str] = field(default_factory=lambda: BROWSER)
    clients: int = CLIENTS


@dataclass
class Borne:
    """Requests a second, seconds of the middle one and of the slowest of a hundred, for each round; and statuses."""

    rates: list[float] = field(default_factory=list)
    middle: list[float] = field(default_factory=list)
    slowest: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    cpu: float = 0.0


def measure() -> Report:
    """The tables of loads: of one server, and of two behind nginx."""
    with serving() as server:
        server.wait_until_ready()
        tables = [_table(f"{CLIENTS} clients at once", NOTE, *_borne(server.url, [server], _ways(server.url)))]
    with front() as found:
        if found:
            url, behind = found
            ways = {name: way for name, way in _ways(url).items() if way.clients == CLIENTS}
            title = f"{CLIENTS} clients at once, two servers behind nginx"
            tables.append(_table(title, BEHIND, *_borne(url, behind, ways)))
    return Report(tables)


def _borne(url: str, servers: list[Server], ways: dict[str, Way]) -> tuple[dict[str, Way], dict[str, Borne]]:
    found = {name: Borne() for name in ways}
    with ExitStack() as stack:
        clients = [stack.enter_context(closing(Client(each.url, each.process.pid))) for each in servers]
        for turn in range(ROUNDS):
            for name, way in ways.items():
                before = sum(map(sum, (client.spent() for client in clients)))
                _crowd(url, way, turn, found[name])
                found[name].cpu += sum(map(sum, (client.spent() for client in clients))) - before
                for client in clients:
                    client.fresh(OP, 1000)  # is answered when those who left are forgotten
    return ways, found


def _ways(url: str) -> dict[str, Way]:
    with closing(Client(url, 0)) as client:
        tag = client.get(NUMBERS, BROWSER).etag
    fresh = f"{NUMBERS}&grad_output=1.{{}}"
    return {
        "numbers, each another": Way(fresh),
        "numbers, the same": Way(NUMBERS),
        "… 304": Way(NUMBERS, BROWSER | {"If-None-Match": tag}),
        "the page, the same": Way(f"/ops/{OP}"),
        "the embed, the same": Way(f"/embed/{OP}"),
        "the SVG, the same": Way(f"/ops/{OP}.svg"),
        "the PNG, the same": Way(f"/ops/{OP}.png"),
        "the PNG, each another": Way(f"/ops/{OP}.png?grad_output=1.{{}}"),
        "the gallery": Way("/"),
        f"numbers, each another, {MANY} clients": Way(fresh, clients=MANY),
    }


def _crowd(url: str, way: Way, turn: int, borne: Borne) -> None:
    asked = {
        "url": url,
        "clients": way.clients,
        "lasts": LASTS,
        "address": way.address,
        "headers": way.headers,
        "first": 10**5 * (1 + turn) + 10**6 * way.clients,
    }
    command = [sys.executable, str(Path(__file__).with_name("crowd.py")), json.dumps(asked)]
    said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    borne.rates.append(said["rate"])
    borne.middle.append(said["p50"])
    borne.slowest.append(said["p99"])
    borne.statuses.update(said["statuses"])


def _table(title: str, note: str, ways: dict[str, Way], found: dict[str, Borne]) -> Table:
    rows = [
        (
            name,
            f"{median(each.rates):.0f}",
            f"{1e3 * median(each.middle):.1f} ms",
            f"{1e3 * median(each.slowest):.1f} ms",
            f"{1e3 * each.cpu / max(1, sum(each.statuses.values())):.2f} ms",
            ", ".join(f"{count} × {_status(status)}" for status, count in sorted(each.statuses.items())),
        )
        for name, each in found.items()
    ]
    headings = ("", "answered a second", "p50", "p99", "CPU a request", "replies")
    return Table(title, headings, rows, note)


def _status(status: str) -> str:
    return "no whole reply" if status == "0" else status
