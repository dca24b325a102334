"""The process that workers are copies of: it has imported torch and the numerics, and computes nothing itself."""

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
from ..protocol.job import Work
from .child_processes import end_children
from .sandbox import Confinement, adopt, end_with_the_parent

_NAMES = ("worker.dispatch", "user_code.registry", "worker.main")
MODULES = (*(f"{PACKAGE}.server.{name}" for name in _NAMES), "numpy.ma")
LATER = "torch.fx.experimental.symbolic_shapes"  # half a second, which the X-ray of a contract would wait for
_PAUSE = 1.0  # seconds until a process that the system has refused is asked for again, or with nothing to do
_LONGEST = 2**20  # bytes of a request


class Zygote:
    """Forks a worker for every request, and tells when it has ended.

    A request is a message of JSON through a socket of whole messages, with two descriptors: the worker's end of its
    channel, and the file for its last line. What comes back is ``{"born": pid}`` in the order of the requests, and
    ``{"ended": pid, "code": ...}``, a signal as its negative. Of a worker that has ended its number is kept, so that
    no other process has it, until ``{"bury": pid}``.
    """

    def __init__(self, server: socket.socket) -> None:
        self._server, self._number = server, os.getpid()
        self._requests: deque[tuple[dict[str, Any], list[int]]] = deque()
        self._living: set[int] = set()
        self._ended: set[int] = set()
        self._prepares = False  # whether a visitor saves her file, and each time waits for a new worker
        self._woken, self._wakes = os.pipe()
        for end in (self._woken, self._wakes):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._wakes)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> None:
        """Until the server has closed its end."""
        with suppress(BrokenPipeError, ConnectionResetError):
            while self._heard():
                self._tell_of_the_ended()
                self._fork_what_is_asked_for()

    def _heard(self) -> bool:
        """Wait for something to do; whether the server is still there."""
        server = self._server.fileno()
        ready, _, _ = select([server, self._woken], [], [], _PAUSE if self._requests or self._prepares else None)
        if not ready and not self._requests:
            self._prepares = False
            _load(LATER)
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
            except OSError:  # no memory or too many processes at this moment
                return
            if child == 0:
                self._become_worker(request, *descriptors)
            self._requests.popleft()
            self._prepares = self._prepares or (bool(request["work"]["targets"]) and LATER not in sys.modules)
            for each in descriptors:
                os.close(each)
            self._living.add(child)
            self._tell({"born": child})

    def _become_worker(self, request: dict[str, Any], channel: int, notes: int) -> NoReturn:
        """The life of a copy; it never comes back."""
        code = 1
        try:
            os.setsid()
            self._forget_all_but(channel, notes)
            confinement = Confinement(notes)
            if os.getppid() == self._number:  # else the system has not heard in time that it should tell us
                from .main import work_on

                _move(request["cwd"], request["environment"])
                confinement.run(lambda: work_on(socket.socket(fileno=channel), Work.told(request["work"])))
            code = 0
        except BaseException:  # noqa: BLE001 there is nobody above to handle it
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
        end_children(self._living | self._ended)  # what it had started, and was left to us

    def _tell(self, said: dict[str, Any]) -> None:
        self._server.send(json.dumps(said).encode())


def _move(folder: str, environment: dict[str, str]) -> None:
    """To where the server is now, and what it has there."""
    if environment != dict(os.environ):
        os.environ.clear()
        os.environ.update(environment)
    with suppress(OSError):
        os.chdir(folder)
    importlib.invalidate_caches()


def main() -> None:
    """Serve the server whose socket is the descriptor in the first argument."""
    server = socket.socket(fileno=int(sys.argv.pop(1)))
    server.set_inheritable(False)
    end_with_the_parent()
    adopt()
    gc.disable()  # of what is imported nothing is garbage
    _load(*MODULES)
    gc.freeze()  # what nobody touches stays one piece of memory for all
    gc.enable()
    Zygote(server).serve()


def _load(*modules: str) -> None:
    """Import what workers need. What cannot be imported is left to the worker, which says why."""
    for name in modules:
        with suppress(Exception):
            importlib.import_module(name)


if __name__ == "__main__":
    main()
