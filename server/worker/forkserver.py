"""The fork server: imports torch and the numerics once, and forks a worker for each request."""

import gc
import importlib
import inspect
import json
import os
import signal
import socket
import sys
import traceback
import warnings
import weakref
from collections import deque
from contextlib import suppress
from select import select
from typing import Any, NoReturn

from ..paths import PACKAGE
from ..protocol.fingerprint import source_digest
from ..protocol.job import Job
from .sandbox import Sandbox, become_subreaper, die_with_parent, end_children

_NAMES = ("worker.dispatch", "user_code.user_functions", "worker.main")
MODULES = (*(f"{PACKAGE}.server.{name}" for name in _NAMES), "numpy.ma")
# They take most of a second, and are needed by the view `contract`: imported when there is nothing else to do, or
# before the first worker of a report, which looks at that view of every Function.
DEFERRED_MODULES = ("torch.fx.experimental.symbolic_shapes", "torch._decomp.decompositions_for_jvp")
_RETRY_INTERVAL = 1.0  # seconds before a refused fork is retried, or idle before the deferred import
_MAX_REQUEST = 2**16  # bytes of a request


class ForkServer:
    """Forks a worker for every request, and reports when it has ended.

    Messages are lists in JSON over a SEQPACKET socket. ``["fork", loads, needs_all]`` asks for a worker that will load
    files of a user, or leaves nothing to be imported later. Three descriptors come with it: the worker's end of its
    channel, the file for its stack dump, and one without a name that only the worker reads, with its job, folder and
    environment. The replies are ``["born", pid, 0]``, in the order of the requests, and ``["ended", pid, code]``. An
    ended worker stays a zombie, so that its process id is not reused, until ``["bury", pid]``.
    """

    def __init__(self, server: socket.socket) -> None:
        self._server, self._pid = server, os.getpid()
        self._requests: deque[tuple[bool, bool, list[int]]] = deque()  # loads, needs_all, descriptors
        self._living: set[int] = set()
        self._ended: set[int] = set()
        self._loads_user_files = False  # whether workers load user files, so that each save waits for a new one
        self._wakeup_read, self._wakeup_write = os.pipe()
        for end in (self._wakeup_read, self._wakeup_write):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._wakeup_write)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> None:
        """Handle requests until the server closes its end."""
        with suppress(BrokenPipeError, ConnectionResetError):
            while self._receive():
                self._report_ended()
                self._fork_workers()

    def _receive(self) -> bool:
        """Wait for requests or ended workers; False when the server is gone."""
        server = self._server.fileno()
        ready, _, _ = select(
            [server, self._wakeup_read], [], [], _RETRY_INTERVAL if self._requests or self._loads_user_files else None
        )
        if not ready and not self._requests:
            self._loads_user_files = False
            self._import_deferred()
        if self._wakeup_read in ready:
            os.read(self._wakeup_read, 4096)
        if server in ready:
            message, descriptors, _, _ = socket.recv_fds(self._server, _MAX_REQUEST, 3)
            if not message:
                return False
            kind, *told = json.loads(message)
            if kind == "bury":
                self._bury(*told)
            else:
                self._requests.append((*told, descriptors))
        return True

    def _import_deferred(self) -> None:
        if DEFERRED_MODULES[-1] not in sys.modules:
            import_modules(*DEFERRED_MODULES)
            with suppress(Exception):
                importlib.import_module(f"{PACKAGE}.server.sandbox.guest").preload()
            # The file of every module, which a worker would look up for the first line of source that it asks for.
            inspect.getmodule(compile("", "", "exec"))
            gc.freeze()

    def _fork_workers(self) -> None:
        while self._requests:
            loads, needs_all, descriptors = self._requests[0]
            if needs_all:
                self._import_deferred()
            try:
                child = os.fork()
            except OSError:  # out of memory or processes: retried later
                return
            if child == 0:
                self._become_worker(*descriptors)
            self._requests.popleft()
            self._loads_user_files |= loads and DEFERRED_MODULES[-1] not in sys.modules
            for each in descriptors:
                os.close(each)
            self._living.add(child)
            self._send("born", child)

    def _become_worker(self, channel: int, notes: int, briefing: int) -> NoReturn:
        """What the forked process does; never returns."""
        code = 1
        try:
            os.setsid()
            self._close_all_but(channel, notes, briefing)
            sandbox = Sandbox(notes)
            if os.getppid() == self._pid:  # else the parent died before PR_SET_PDEATHSIG was set
                from .main import run_worker

                told = _read_briefing(briefing)
                _take_over(told["cwd"], told["environment"])
                sandbox.run(lambda: run_worker(socket.socket(fileno=channel), Job.from_json(told["job"])))
            code = 0
        except BaseException:  # noqa: BLE001 nothing above could handle it
            traceback.print_exc()
        finally:
            os._exit(code)

    def _close_all_but(self, *exempt: int) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        others = {each for *_, descriptors in self._requests for each in descriptors} - {*exempt}
        for each in (self._wakeup_read, self._wakeup_write, *others):
            os.close(each)
        self._server.close()

    def _report_ended(self) -> None:
        for child in list(self._living):
            status = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if status is not None:
                self._living.remove(child)
                self._ended.add(child)
                code = status.si_status if status.si_code == os.CLD_EXITED else -status.si_status
                self._send("ended", child, code)

    def _bury(self, child: int) -> None:
        self._ended.discard(child)
        os.waitpid(child, 0)
        end_children(self._living | self._ended)  # its orphans, reparented to us

    def _send(self, kind: str, pid: int, code: int = 0) -> None:
        self._server.send(json.dumps([kind, pid, code]).encode())


def _read_briefing(file: int) -> dict[str, Any]:
    with open(file, "rb") as briefing:
        briefing.seek(0)
        told: dict[str, Any] = json.load(briefing)
    return told


def _take_over(folder: str, environment: dict[str, str]) -> None:
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
    import_modules(*MODULES)
    source_digest()  # kept by all workers, which are replaced together with this process when the source changes
    gc.freeze()  # pages that the collector leaves alone stay shared after a fork
    gc.enable()
    ForkServer(server).serve()


def import_modules(*modules: str) -> None:
    """Import what workers need, without what torch warns itself of.

    What cannot be imported is left to the worker, which reports why. Workers, which run what user code registers for
    the exit, need not take apart what torch has registered here.
    """
    for name in modules:
        with suppress(Exception), warnings.catch_warnings(action="ignore", category=FutureWarning):
            importlib.import_module(name)
    for registered in weakref.finalize._registry:  # type: ignore[attr-defined]
        registered.atexit = False


if __name__ == "__main__":
    main()
