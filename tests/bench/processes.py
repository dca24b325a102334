"""Servers of any make in processes of their own: launched, timed, weighed and ended."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO
from urllib.error import URLError

from support.servers import family

from gradloupe.server.html.assets import PLOTLY_BUNDLES, PLOTLY_BUNDLES_FOLDER

TICK = os.sysconf("SC_CLK_TCK")
PATIENCE = 60.0  # seconds
READY = "/healthz?wait=1"  # answers when our server has loaded torch
WITHOUT_LIGHT_PLOTLY = (
    "import sys; from pathlib import Path; from gradloupe.server.html import assets;"
    "assets.PLOTLY_BUNDLES_FOLDER = Path('nowhere');"
    "from gradloupe.server.cli import main; main()"
)


@dataclass(frozen=True)
class Memory:
    """What processes touch (RSS), and the same with shared pages counted once (PSS); in MiB."""

    rss: float
    pss: float

    def __add__(self, other: Memory) -> Memory:
        return Memory(self.rss + other.rss, self.pss + other.pss)


@dataclass(frozen=True)
class WebServer:
    """Where it answers, its process, the seconds from the launch to the first page, and what it prints."""

    url: str
    pid: int
    start: float
    log: IO[str]

    def lines(self) -> list[str]:
        """What it has printed since this was asked the last time."""
        return self.log.readlines()

    def get(self, address: str) -> None:
        """Ask for a page and wait until it is there."""
        with urllib.request.urlopen(self.url + address, timeout=PATIENCE):  # noqa: S310 - our own address
            pass

    def cpu_seconds(self) -> float:
        """Seconds of CPU of the process, of all below it and of threads that have ended."""
        return sum(map(_cpu, family(self.pid)))

    def memory(self) -> Memory:
        """Of the process and its children."""
        return family_memory(self.pid)


@contextmanager
def web_server(command: list[str], page: str, cwd: Path | None = None, **environment: str) -> Iterator[WebServer]:
    """Run ``command``, in which PORT stands for a free port, until the block is left; ``page`` answers when it is up.

    Raises ``RuntimeError`` when there is no page after a minute.
    """
    port = free_port()
    began = time.perf_counter()
    arguments = [each.replace("PORT", str(port)) for each in command]
    env, url = os.environ | environment, f"http://127.0.0.1:{port}"
    with NamedTemporaryFile("w") as output, open(output.name) as log:
        process = subprocess.Popen(arguments, cwd=cwd, env=env, stdout=output, stderr=output)
        try:
            if not _up(process, url + page):
                raise RuntimeError(f"{arguments} did not serve a page: {log.read()[-2000:]}")
            yield WebServer(url, process.pid, time.perf_counter() - began, log)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)


@contextmanager
def announced_server(command: list[str]) -> Iterator[tuple[str, int]]:
    """The address that a server prints once it listens, and its process, until the block is left."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield next(word for word in process.stdout.readline().split() if word.startswith("http://")), process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)


def python_script(name: str, *arguments: str) -> list[str]:
    """The command that runs a script of this folder."""
    return [sys.executable, str(Path(__file__).with_name(name)), *arguments]


def gradloupe_commands() -> dict[str, list[str]]:
    """How our server is started, by name: with the light plotly.js if that is installed, and without it.

    PORT stands for the port. The first is the one that is held to the targets.
    """
    full = {"ours, full plotly.js": [sys.executable, "-c", WITHOUT_LIGHT_PLOTLY, "--port", "PORT"]}
    if not all((PLOTLY_BUNDLES_FOLDER / name).is_file() for name in PLOTLY_BUNDLES.values()):
        return full
    return {"**ours**": [sys.executable, "-m", "gradloupe", "--port", "PORT"]} | full


def process_memory(pid: int) -> Memory:
    """The memory of one process."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    rss, pss = (int(re.search(rf"^{name}:\s+(\d+) kB", rollup, re.M)[1]) / 1024 for name in ("Rss", "Pss"))
    return Memory(rss, pss)


def family_memory(pid: int) -> Memory:
    """The memory of a process and of all that is below it."""
    return sum((process_memory(each) for each in family(pid)), Memory(0.0, 0.0))


def free_port() -> int:
    """A port nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _up(process: subprocess.Popen[bytes], page: str) -> bool:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(page, timeout=PATIENCE):  # noqa: S310 - our own address
                return True
        except (URLError, ConnectionError):
            time.sleep(0.01)
    return False


def _cpu(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / TICK
