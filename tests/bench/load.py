"""What the server bears: requests a second and how long they take, for many clients at once, and beyond its queue."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.request import urlopen

from client import Client
from processes import free_port, python_script
from report import Report, Table
from support.servers import HERE, Server, serving

CLIENTS, MANY_CLIENTS = 32, 192
SECONDS, ROUNDS = 2.0, 3
OP = "clipped_relu"
NUMBERS = f"/ops/{OP}.json?count=1000"
BROWSER = {"Accept-Encoding": "gzip, deflate, br, zstd"}
NOTE = (
    f"{CLIENTS} clients, each with a kept connection and its next request as soon as the last is answered; "
    f"{ROUNDS} rounds of {SECONDS:g} s each, in turns. The clients are one process on the same machine, so that "
    "server, worker and they share its cores. Counted are the replies that have what was asked for; who is told to "
    "come back later does. CPU is that of web process and worker, by any reply."
)
NGINX_NOTE = (
    "The same through nginx as it is shipped, without its bounds for one client. nginx shares the cores too; CPU is "
    "that of the servers behind it."
)

REPLICA_OPTIONS = ("--public", "--requests-per-peer", "0", "--forwarded-allow-ips", "127.0.0.1")
NGINX_PATHS = f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin"
REPLICAS = 2
CLIENT_LIMIT = re.compile(r"^\s*limit_(req|conn)\b.*;.*$", re.MULTILINE)


@dataclass(frozen=True)
class Load:
    """What is asked, how, and by how many at once."""

    address: str
    headers: dict[str, str] = field(default_factory=lambda: BROWSER)
    clients: int = CLIENTS


@dataclass
class LoadResult:
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
        tables = [_table(f"{CLIENTS} clients at once", NOTE, *_measured(server.url, [server], _loads(server.url)))]
    with nginx_in_front() as proxied:
        if proxied:
            url, replicas = proxied
            loads = {name: load for name, load in _loads(url).items() if load.clients == CLIENTS}
            title = f"{CLIENTS} clients at once, two servers behind nginx"
            tables.append(_table(title, NGINX_NOTE, *_measured(url, replicas, loads)))
    return Report(tables)


def _measured(url: str, servers: list[Server], loads: dict[str, Load]) -> tuple[dict[str, Load], dict[str, LoadResult]]:
    results = {name: LoadResult() for name in loads}
    with ExitStack() as stack:
        clients = [stack.enter_context(closing(Client(each.url, each.process.pid))) for each in servers]
        for turn in range(ROUNDS):
            for name, load in loads.items():
                before = sum(map(sum, (client.cpu_seconds() for client in clients)))
                _crowd(url, load, turn, results[name])
                results[name].cpu += sum(map(sum, (client.cpu_seconds() for client in clients))) - before
                for client in clients:
                    client.fresh(OP, 1000)  # is answered when those who left are forgotten
    return loads, results


def _loads(url: str) -> dict[str, Load]:
    with closing(Client(url, 0)) as client:
        tag = client.get(NUMBERS, BROWSER).etag
    fresh = f"{NUMBERS}&grad_output=1.{{}}"
    return {
        "numbers, each another": Load(fresh),
        "numbers, the same": Load(NUMBERS),
        "… 304": Load(NUMBERS, BROWSER | {"If-None-Match": tag}),
        "the page, the same": Load(f"/ops/{OP}"),
        "the embed, the same": Load(f"/embed/{OP}"),
        "the SVG, the same": Load(f"/ops/{OP}.svg"),
        "the PNG, the same": Load(f"/ops/{OP}.png"),
        "the PNG, each another": Load(f"/ops/{OP}.png?grad_output=1.{{}}"),
        "the gallery": Load("/"),
        f"numbers, each another, {MANY_CLIENTS} clients": Load(fresh, clients=MANY_CLIENTS),
    }


def _crowd(url: str, load: Load, turn: int, result: LoadResult) -> None:
    arguments = {
        "url": url,
        "clients": load.clients,
        "seconds": SECONDS,
        "address": load.address,
        "headers": load.headers,
        "first": 10**5 * (1 + turn) + 10**6 * load.clients,
    }
    command = python_script("load_clients.py", json.dumps(arguments))
    counts = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    result.rates.append(counts["rate"])
    result.middle.append(counts["p50"])
    result.slowest.append(counts["p99"])
    result.statuses.update(counts["statuses"])


def _table(title: str, note: str, loads: dict[str, Load], results: dict[str, LoadResult]) -> Table:
    rows = [
        (
            name,
            f"{median(each.rates):.0f}",
            f"{1e3 * median(each.middle):.1f} ms",
            f"{1e3 * median(each.slowest):.1f} ms",
            f"{1e3 * each.cpu / max(1, sum(each.statuses.values())):.2f} ms",
            ", ".join(f"{count} × {_status(status)}" for status, count in sorted(each.statuses.items())),
        )
        for name, each in results.items()
    ]
    headings = ("", "answered a second", "p50", "p99", "CPU a request", "replies")
    return Table(title, headings, rows, note)


def _status(status: str) -> str:
    return "no whole reply" if status == "0" else status


@contextmanager
def nginx_in_front() -> Iterator[tuple[str, list[Server]] | None]:
    """Where nginx listens, as it is shipped, and the servers behind it; None where it is not installed.

    Only its bounds for one client are lifted, for all are one here.
    """
    nginx = shutil.which("nginx", path=NGINX_PATHS)
    if nginx is None:
        yield None
        return
    with ExitStack() as stack:
        replicas = [stack.enter_context(serving(*REPLICA_OPTIONS)) for _ in range(REPLICAS)]
        for server in replicas:
            server.wait_until_ready()
        folder, port = Path(stack.enter_context(TemporaryDirectory())), free_port()
        config = folder / "nginx.conf"
        config.write_text(_nginx_conf(folder, port, replicas))
        user = "user root; " if os.getuid() == 0 else ""
        command = [nginx, "-p", folder, "-c", config, "-g", f"{user}daemon off;"]
        process = stack.enter_context(subprocess.Popen(command, stderr=subprocess.DEVNULL))
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_for(process, url)
            yield url, replicas
        finally:
            process.send_signal(signal.SIGQUIT)
            process.wait(20)


def _nginx_conf(folder: Path, port: int, replicas: list[Server]) -> str:
    text = (HERE / "deploy/nginx/nginx.conf").read_text()
    servers = " ".join(f"server {server.url.removeprefix('http://')} max_fails=0;" for server in replicas)
    text = re.sub(r"server \w+:8000 resolve max_fails=0;", servers, text).replace("8081", str(free_port()))
    text = text.replace("listen 8080", f"listen 127.0.0.1:{port}")
    return CLIENT_LIMIT.sub("", text.replace("/tmp/", f"{folder}/").replace("/var/cache/nginx", str(folder)))  # noqa: S108


def _wait_for(process: subprocess.Popen[bytes], url: str) -> None:
    while process.poll() is None:
        try:
            urlopen(f"{url}/healthz", timeout=20).close()  # noqa: S310 - our own address
        except (URLError, ConnectionError):
            time.sleep(0.01)
        else:
            return
    raise RuntimeError(f"nginx ended with {process.returncode}")
