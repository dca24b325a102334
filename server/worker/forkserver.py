"""The fork server: imports torch and the numerics once, and forks a worker for each request."""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import sys
import traceback
from collections import deque
from contextlib import suppress
from select import select
from typing import Any, NoReturn

from ..paths import PACKAGE
from ..protocol.job import Job
from .child_processes import end_children
from .sandbox import Sandbox, become_subreaper, die_with_parent

_NAMES = ("worker.dispatch", "user_code.registry", "worker.main")
MODULES = (*(f"{PACKAGE}.server.{name}" for name in _NAMES), "numpy.ma")
DEFERRED_MODULE = "torch.fx.experimental.symbolic_shapes"  # takes half a second, needed by the view `contract`
_PAUSE = 1.0  # seconds before a refused fork is retried, or idle before the deferred import
_LONGEST = 2**20  # bytes of a request


class ForkServer:
    """Forks a worker for every request, and reports when it has ended.

    A request is a JSON message over a SEQPACKET socket, with two descriptors: the worker's end of its channel, and the
    file for its stack dump. Replies are ``{"born": pid}`` in the order of the requests, and ``{"ended": pid,
    "code": ...}``, negative for a signal. An ended worker stays a zombie, so that its process id is not reused, until
    ``{"bury": pid}``.
    """

    def __init__(self, server: socket.socket) -> None:
        self._server, self._number = server, os.getpid()
        self._requests: deque[tuple[dict[str, Any], list[int]]] = deque()
        self._living: set[int] = set()
        self._ended: set[int] = set()
        self._prepares = False  # whether workers load user files, so that each save waits for a new one
        self._woken, self._wakes = os.pipe()
        for end in (self._woken, self._wakes):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._wakes)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> None:
        """Handle requests until the server closes its end."""
        with suppress(BrokenPipeError, ConnectionResetError):
            while self._heard():
                self._tell_of_the_ended()
                self._fork_what_is_asked_for()

    def _heard(self) -> bool:
        """Wait for requests or ended workers; False when the server is gone."""
        server = self._server.fileno()
        ready, _, _ = select([server, self._woken], [], [], _PAUSE if self._requests or self._prepares else None)
        if not ready and not self._requests:
            self._prepares = False
            _load(DEFERRED_MODULE)
            gc.freeze()
        if self._woken in ready:
            os.read(self._woken, 4096)
        if server in ready:
            said, descriptors, _, _ = socket.recv_fds(self._server, _LONGEST, 2)
            if not said:
                return False
            request = json.loads(said)
            if "bury" in request:
                self._bury(request["bury"])
            else:
                self._requests.append((request, descriptors))
        return True

    def _fork_what_is_asked_for(self) -> None:
        while self._requests:
            request, descriptors = self._requests[0]
            try:
                child = os.fork()
            except OSError:  # out of memory or processes: retried later
                return
            if child == 0:
                self._become_worker(request, *descriptors)
            self._requests.popleft()
            self._prepares = self._prepares or (bool(request["work"]["targets"]) and DEFERRED_MODULE not in sys.modules)
            for each in descriptors:
                os.close(each)
            self._living.add(child)
            self._tell({"born": child})

    def _become_worker(self, request: dict[str, Any], channel: int, notes: int) -> NoReturn:
        """What the forked process does; never returns."""
        code = 1
        try:
            os.setsid()
            self._forget_all_but(channel, notes)
            confinement = Sandbox(notes)
            if os.getppid() == self._number:  # else the parent died before PR_SET_PDEATHSIG was set
                from .main import run_worker

                _move(request["cwd"], request["environment"])
                confinement.run(lambda: run_worker(socket.socket(fileno=channel), Job.told(request["work"])))
            code = 0
        except BaseException:  # noqa: BLE001 nothing above could handle it
            traceback.print_exc()
        finally:
            os._exit(code)

    def _forget_all_but(self, *kept: int) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        others = {each for _, descriptors in self._requests for each in descriptors} - {*kept}
        for each in (self._woken, self._wakes, *others):
            os.close(each)
        self._server.close()

    def _tell_of_the_ended(self) -> None:
        for child in list(self._living):
            found = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if found is not None:
                self._living.remove(child)
                self._ended.add(child)
                code = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
                self._tell({"ended": child, "code": code})

    def _bury(self, child: int) -> None:
        self._ended.discard(child)
        os.waitpid(child, 0)
        end_children(self._living | self._ended)  # its orphans, reparented to us

    def _tell(self, said: dict[str, Any]) -> None:
        self._server.send(json.dumps(said).encode())


def _move(folder: str, environment: dict[str, str]) -> None:
    """Take over the working directory and the environment of the server."""
    if environment != dict(os.environ):
        os.environ.clear()
        os.environ.update(environment)
    with suppress(OSError):
        os.chdir(folder)
    importlib.invalidate_caches()


def main() -> None:
    """Run the fork server; the first argument is the descriptor of its socket."""
    server = socket.socket(fileno=int(sys.argv.pop(1)))
    server.set_inheritable(False)
    die_with_parent()
    become_subreaper()
    gc.disable()  # imports leave no garbage
    _load(*MODULES)
    gc.freeze()  # pages that the collector leaves alone stay shared after a fork
    gc.enable()
    ForkServer(server).serve()


def _load(*modules: str) -> None:
    """Import what workers need. What cannot be imported is left to the worker, which reports why."""
    for name in modules:
        with suppress(Exception):
            importlib.import_module(name)


if __name__ == "__main__":
    main()
