"""Client of the fork server: requests forked workers, and tracks their process ids and exit codes."""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from queue import SimpleQueue
from typing import IO

from ..paths import source_files, working_directory
from ..protocol.job import ONE_THREAD, Job, python_command

_KILLED = -int(signal.SIGKILL)
_MAX_MESSAGE = 4096  # bytes of a message from the fork server


class ForkedWorker:
    """A worker requested from the fork server. ``pid`` is 0 until it is forked and after it has ended."""

    def __init__(self, client: ForkServerClient, ended: Callable[[], None]) -> None:
        self.pid, self.number = 0, 0
        self.code: int | None = None
        self._client, self._ended = client, ended

    def kill(self) -> None:
        """Kill it and the processes of its session, now or as soon as it is forked."""
        self._client.wake()
        with self._client.change:
            if self.code is None:
                self.signal(signal.SIGKILL)
                if not self.pid:
                    self.end(_KILLED)
        self._client.end_if_unneeded()

    def signal(self, sign: signal.Signals) -> None:
        """Send the worker a signal; SIGKILL goes to its whole session."""
        with self._client.change, suppress(ProcessLookupError, PermissionError):
            if self.pid:
                os.kill(self.pid, sign)
                if sign == signal.SIGKILL:
                    os.killpg(self.pid, sign)

    def give_up(self) -> None:
        """Kill the fork server with all its workers, as it does not report the end of this one."""
        self._client.kill()

    def wait(self, seconds: float | None = None) -> int | None:
        """The exit code, negative for a signal; None where it is still running after ``seconds``."""
        with self._client.change:
            self._client.change.wait_for(lambda: self.code is not None, seconds)
        return self.code

    def end(self, code: int) -> None:
        """Record how it has ended."""
        self.pid, self.code = 0, code
        self._client.change.notify_all()
        self._ended()


class ForkServerClient:
    """One fork server, started in the background; raises ``OSError`` where it cannot be."""

    def __init__(self) -> None:
        self.stamp = _source_stamp()
        self.change = threading.Condition(threading.RLock())
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._expected: deque[ForkedWorker] = deque()
        self._living: dict[int, ForkedWorker] = {}
        self._has_forked = False  # whether it has forked at least once, or was killed by us before
        self._retired = False  # whether it gets no more requests
        self.ended = False
        started: SimpleQueue[OSError | None] = SimpleQueue()
        # The fork server dies with the thread that starts it, so this thread lives as long as this process does.
        threading.Thread(target=self._run, args=(theirs, started), name="forkserver", daemon=True).start()
        problem = started.get()
        if problem is not None:
            self._socket.close()
            raise problem

    @property
    def failed_to_start(self) -> bool:
        """Whether it died by itself before it forked anything."""
        return self.ended and not self._has_forked

    def ask(self, job: Job, channel: int, notes: int, ended: Callable[[], None]) -> ForkedWorker:
        """Request a worker on this channel; ``ended`` is called when it is gone. Raises ``OSError``."""
        request = json.dumps(["fork", bool(job.targets), job.report or job.warm or job.text is not None]).encode()
        worker = ForkedWorker(self, ended)
        with self.change:
            if self.ended:
                raise ConnectionResetError("the process that workers are copies of has just ended")
            self._expected.append(worker)
            try:
                with _briefing(job) as briefing:
                    socket.send_fds(self._socket, [request], [channel, notes, briefing.fileno()])
            except OSError:
                self._expected.pop()
                raise
        return worker

    def leave(self) -> None:
        """Retire it: it ends as soon as its last worker has."""
        self._retired = True
        self.end_if_unneeded()

    def end_if_unneeded(self) -> None:
        """End the fork server if it is not needed any more."""
        with self.change:
            wanted = bool(self._living) or any(worker.code is None for worker in self._expected)
            if self.ended or wanted:
                return
            if self._expected and not self._has_forked:  # its imports may hang
                self._has_forked = True
                self._forkserver.kill()
            elif self._retired:
                self.close()

    def wake(self) -> None:
        """Let it go on where a Function has stopped it by a signal."""
        self._forkserver.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill it, even where it does not listen."""
        self._forkserver.kill()

    def close(self) -> None:
        """Let it end now, and its workers with it."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _run(self, channel: socket.socket, started: SimpleQueue[OSError | None]) -> None:
        try:
            with channel:
                self._forkserver = subprocess.Popen(  # noqa: S603
                    python_command("worker.forkserver", str(channel.fileno())),
                    pass_fds=[channel.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    env=_harmless_environment() | ONE_THREAD,
                    start_new_session=True,
                )
        except OSError as problem:
            started.put(problem)
            return
        started.put(None)
        with suppress(ConnectionResetError):
            while message := self._socket.recv(_MAX_MESSAGE):
                self._receive(*json.loads(message))
        self._end_all(self._forkserver.wait())

    def _receive(self, kind: str, pid: int, code: int) -> None:
        """A worker is ``born``, or has ended with this exit code, negative for a signal."""
        with self.change:
            if kind == "born":
                self._has_forked = True
                worker = self._expected.popleft()
                worker.pid = worker.number = pid
                self._living[worker.pid] = worker
                if worker.code is not None:  # killed before it was forked
                    worker.signal(signal.SIGKILL)
            else:
                worker = self._living.pop(pid)
                worker.signal(signal.SIGKILL)  # and the processes that it leaves in its session
                worker.end(code if worker.code is None else worker.code)
                with suppress(OSError):
                    self._socket.send(json.dumps(["bury", pid]).encode())
        self.end_if_unneeded()

    def _end_all(self, code: int) -> None:
        with self.change:
            self.ended = True
            self._socket.close()
            for worker in (*self._expected, *self._living.values()):
                if worker.code is None:
                    worker.end(code)
            self._expected.clear()
            self._living.clear()


def _briefing(job: Job) -> IO[bytes]:
    """The job in a file without a name: other copies of the fork server never hold it in their memory."""
    # What runs edited code gets nothing of the environment, and no GPU, whose driver would have to open files.
    environment = {"CUDA_VISIBLE_DEVICES": ""} if job.text is not None else os.environ
    plain = {"job": asdict(job), "cwd": working_directory(), "environment": environment | ONE_THREAD}
    file = open(os.memfd_create("gradloupe"), "w+b")  # noqa: SIM115 the caller closes it
    file.write(json.dumps(plain).encode())
    file.flush()
    return file


def _harmless_environment() -> dict[str, str]:
    """What Python, torch and the libraries below it look at; no keys of a user, which a copy might be made to tell."""
    return {name: value for name, value in os.environ.items() if name.startswith(_HARMLESS)}


_HARMLESS = (
    *("PATH", "HOME", "USER", "LANG", "LC_", "TZ", "TMP", "TEMP", "TERM", "XDG_", "PYTHON", "VIRTUAL_ENV", "CONDA"),
    *("LD_", "TORCH", "PYTORCH", "ATEN", "CUDA", "NVIDIA", "HIP", "ROC", "HSA", "OMP", "KMP", "MKL", "OPENBLAS", "NPY"),
)
_lock = threading.Lock()
_clients: list[ForkServerClient] = []  # the present one, or none


def fork_worker(job: Job, channel: int, notes: int, ended: Callable[[], None]) -> ForkedWorker:
    """Have a worker forked; starts the fork server if need be, and replaces it when our code has changed.

    Raises ``OSError`` where that cannot be, and once after a fork server that died before it forked anything.
    """
    with _lock:
        client = _clients.pop() if _clients else None
        if client is not None and client.failed_to_start:
            raise ConnectionResetError("the process that workers are copies of has ended while it was loading")
        if client is None or client.ended or client.stamp != _source_stamp():
            if client is not None:
                client.leave()
            client = ForkServerClient()
        _clients.append(client)
        return client.ask(job, channel, notes, ended)


def _source_stamp() -> int:
    """A number that differs when a file of ops/ or server/ does, or Python's own settings in the environment."""
    settings = [
        python_command("worker.forkserver"),
        sorted(each for each in os.environ.items() if each[0].startswith("PYTHON")),
    ]
    files = []
    for file in source_files():
        with suppress(OSError):
            state = os.stat(file)
            files.append((file, state.st_mtime_ns, state.st_size))
    return hash(repr((settings, files)))


def _close() -> None:
    for client in _clients:
        client.close()


def _forget_clients() -> None:
    """Forget the fork server in a forked copy of this process, which has no thread to listen to it."""
    global _lock
    _lock = threading.Lock()
    _clients.clear()


atexit.register(_close)
os.register_at_fork(after_in_child=_forget_clients)
