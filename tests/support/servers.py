"""A real server on a port of its own: in a thread of the tests, or in a process as a user would start it."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import IO

import httpx2
from psutil import STATUS_ZOMBIE, NoSuchProcess, Process

from gradloupe import __version__
from gradloupe.server.cli import make_server, start_engine, with_data
from gradloupe.server.config.settings import parse_settings
from gradloupe.server.reload.composite_engine import AnyEngine
from support import http
from support.waiting import SECONDS, first_line, until

HERE = Path(__file__).parents[2]
PACKAGE = ("__init__.py", "__main__.py", "ops", "server", "static", "templates")


@dataclass(frozen=True)
class Server:
    """Where it answers."""

    url: str

    def get(self, address: str) -> httpx2.Response:
        return http.get(self.url + address)

    def wait_until_ready(self) -> None:
        assert self.get("/healthz?wait=1").json() == {"status": "ready"}

    def workers(self) -> list[int]:
        """Those that there are at this moment."""
        raise NotImplementedError

    def worker(self) -> int:
        """The one worker of a server that serves only the gallery, as soon as there is one."""
        (worker,) = until(self.workers)
        return worker


@dataclass(frozen=True)
class InThread(Server):
    """One in a thread of this process, whose workers are copies of the process that all the tests share."""

    door: AnyEngine
    token: str

    def workers(self) -> list[int]:
        return self.door.workers


@dataclass(frozen=True)
class InProcess(Server):
    """One in a process of its own."""

    process: subprocess.Popen[str]

    def forkserver(self) -> int:
        """The process that its workers are copies of, as soon as there is one."""
        (forkserver,) = until(lambda: children(self.process.pid, "worker.forkserver"))
        return forkserver

    def workers(self) -> list[int]:
        return [
            worker for forkserver in children(self.process.pid, "worker.forkserver") for worker in children(forkserver)
        ]


@contextmanager
def serving_in_thread(*arguments: str, cwd: Path = HERE) -> Iterator[InThread]:
    """What ``gradloupe --port 0`` serves, started in ``cwd``, from this process: nothing is imported again."""
    chosen = parse_settings(["--port", "0", *arguments], os.environ, __version__)
    with chdir(cwd), socket.create_server((chosen.host, 0), backlog=2048) as listener:
        chosen = with_data(chosen)
        door = start_engine(chosen)()
        web = make_server(door, chosen)
        thread = Thread(target=web.run, kwargs={"sockets": [listener]}, name="server")
        thread.start()
        try:
            assert until(lambda: web.started or not thread.is_alive())
            yield InThread(f"http://{chosen.host}:{listener.getsockname()[1]}", door, chosen.token)
        finally:
            web.should_exit = True
            thread.join(SECONDS)
        assert not thread.is_alive()


@contextmanager
def serving(
    *arguments: str,
    python: str = sys.executable,
    cwd: Path = HERE,
    path: str = "",
    log: socket.socket | IO[str] | None = None,
) -> Iterator[InProcess]:
    """`python -m gradloupe --port 0` in a process of its own, which takes seconds: where the process itself matters.

    `path` is where Python finds another copy of the package first.
    """
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
        try:
            said = first_line(process.stdout)
            url = next(word for word in said.split() if word.startswith("http://"))
            yield InProcess(url.partition("/own#")[0], process)
        finally:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """As a user would; one that does not end then is a failure, and not left behind."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(60)
    finally:
        process.kill()


def copy_of_the_package(folder: Path) -> Path:
    """The package alone, in a folder of its own, to be changed by a test."""
    copy = folder / "gradloupe"
    copy.mkdir()
    for name in PACKAGE:
        source = HERE / name
        if source.is_dir():
            # With what Python has compiled, but for what it is about to write at this moment.
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("*.pyc.*"))
        else:
            shutil.copy(source, copy)
    return copy


@contextmanager
def torch_loading(running: InThread) -> Iterator[Callable[[], None]]:
    """A server started in a thread meanwhile has no worker, as while torch is loading, until what is yielded is called.

    The worker of ``running`` is there already.
    """
    running.wait_until_ready()
    forkservers = children(os.getpid(), "worker.forkserver")

    def tell(sign: signal.Signals) -> None:
        for forkserver in forkservers:
            os.kill(forkserver, sign)

    tell(signal.SIGSTOP)
    try:
        yield lambda: tell(signal.SIGCONT)
    finally:
        tell(signal.SIGCONT)


def children(pid: int, module: str = "") -> list[int]:
    """The processes that this one has started and that still run; of ours, those that run ``module``."""
    found = []
    with suppress(NoSuchProcess):
        for each in Process(pid).children():
            with suppress(NoSuchProcess):
                if each.status() != STATUS_ZOMBIE and module in "".join(each.cmdline()):
                    found.append(each.pid)
    return found


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


def to_the_last(witness: socket.socket) -> bytes:
    """What is written until nobody is left who could write; raises ``TimeoutError`` when a process stays."""
    written = b""
    while some := witness.recv(65536):
        written += some
    return written
