"""A real server in a process of its own, as a user would start it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import IO

import httpx2
import patient

HERE = Path(__file__).parents[1]
PACKAGE = ("__init__.py", "__main__.py", "ops", "server", "static", "templates")


@dataclass(frozen=True)
class Server:
    """Where it answers, and its process."""

    url: str
    process: subprocess.Popen[str]

    def get(self, address: str) -> httpx2.Response:
        return patient.get(self.url + address)

    def wait_until_ready(self) -> None:
        assert self.get("/healthz?wait=1").json() == {"status": "ready"}

    def zygote(self) -> int:
        """The process that its workers are copies of."""
        (zygote,) = children(self.process.pid, "server.zygote")
        return zygote

    def workers(self) -> list[int]:
        """Those that there are at this moment."""
        return [worker for zygote in children(self.process.pid, "server.zygote") for worker in children(zygote)]

    def worker(self) -> int:
        """The one worker of a server that serves only the gallery, as soon as there is one."""
        until = monotonic() + 60
        while not (found := self.workers()) and monotonic() < until:
            pass
        (worker,) = found
        return worker


@contextmanager
def serving(
    *arguments: str,
    python: str = sys.executable,
    cwd: Path = HERE,
    path: str = "",
    log: socket.socket | IO[str] | None = None,
) -> Iterator[Server]:
    """`python -m gradloupe --port 0`; `path` is where Python finds another copy of the package first."""
    process = subprocess.Popen(
        [python, "-m", "gradloupe", "--port", "0", *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )
    assert process.stdout is not None
    with process.stdout:
        said = process.stdout.readline()
        try:
            yield Server(next(word for word in said.split() if word.startswith("http://")), process)
        finally:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """As a user would; one that does not end then is a failure, and not left behind."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(60)
    finally:
        process.kill()


def copy_of_the_house(folder: Path) -> Path:
    """The package alone, in a folder of its own, to be changed by a test."""
    copy = folder / "gradloupe"
    copy.mkdir()
    for name in PACKAGE:
        source = HERE / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy)
    return copy


def hold(house: Path) -> None:
    """Have the ops of a copy of the house stay unloaded until they are released; its server runs in their folder."""
    with (house / "ops" / "exp.py").open("a") as op:
        op.write("\nimport os, time\nwhile not os.path.exists('released'):\n    time.sleep(0.01)\n")


def release(house: Path) -> None:
    """Let the ops that are held be loaded."""
    (house.parent / "released").touch()


def children(pid: int, module: str = "") -> list[int]:
    """The processes that this one has started and that still run; of ours, those that run ``module``."""
    command = ["ps", "-A", "-ww", "-o", "pid=,ppid=,stat=,args="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=3) for line in listed.splitlines()]
    return [
        int(child)
        for child, parent, state, *arguments in rows
        if int(parent) == pid and state[0] != "Z" and module in "".join(arguments)
    ]


def family(pid: int) -> list[int]:
    """A process and all that is below it."""
    return [pid, *(below for child in children(pid) for below in family(child))]


@contextmanager
def witnessed() -> Iterator[tuple[socket.socket, socket.socket]]:
    """A witness, and the log that it reads: what a server and all the processes it starts hold in common."""
    witness, log = socket.socketpair()
    with witness, log:
        witness.settimeout(60)
        yield witness, log


def to_the_last(witness: socket.socket) -> None:
    """Read until nobody is left who could write; raises ``TimeoutError`` when a process stays."""
    while witness.recv(65536):
        pass
