"""A web server of any make in a process of its own: launched, timed, weighed and ended."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO
from urllib.error import URLError

from memory import Memory, of_family
from support.servers import family

TICK = os.sysconf("SC_CLK_TCK")
PATIENCE = 60.0  # seconds


@dataclass(frozen=True)
class House:
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

    def spent(self) -> float:
        """Seconds of CPU of the process, of all below it and of threads that have ended."""
        return sum(map(_cpu, family(self.pid)))

    def memory(self) -> Memory:
        """Of the process and its children."""
        return of_family(self.pid)


@contextmanager
def house(command: list[str], page: str, cwd: Path | None = None, **environment: str) -> Iterator[House]:
    """Run ``command``, in which PORT stands for a free port, until the block is left; ``page`` answers when it is up.

    Raises ``RuntimeError`` when there is no page after a minute.
    """
    port = free_port()
    began = time.perf_counter()
    spoken = [each.replace("PORT", str(port)) for each in command]
    env, url = os.environ | environment, f"http://127.0.0.1:{port}"
    with NamedTemporaryFile("w") as written, open(written.name) as log:
        process = subprocess.Popen(spoken, cwd=cwd, env=env, stdout=written, stderr=written)
        try:
            if not _up(process, url + page):
                raise RuntimeError(f"{spoken} did not serve a page: {log.read()[-2000:]}")
            yield House(url, process.pid, time.perf_counter() - began, log)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)


def _up(process: subprocess.Popen[bytes], page: str) -> bool:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(page, timeout=PATIENCE):  # noqa: S310 - our own address
                return True
        except (URLError, ConnectionError):
            time.sleep(0.01)
    return False


def free_port() -> int:
    """A port nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _cpu(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / TICK
