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
from typing import Any

from ..paths import PACKAGE, source_files
from ..protocol.job import Job
from ..protocol.python_command import ONE_THREAD, python_command

_KILLED = -int(signal.SIGKILL)
_LONGEST = 4096  # bytes of a message from the fork server


class ForkedWorker:
    """A worker requested from the fork server. ``pid`` is 0 until it is forked and after it has ended."""

    def __init__(self, nursery: ForkServerClient, ended: Callable[[], None]) -> None:
        self.pid, self.number = 0, 0
        self.code: int | None = None
        self._nursery, self._ended = nursery, ended

    def kill(self) -> None:
        """Kill it and the processes of its session, now or as soon as it is forked."""
        with self._nursery.change:
            if self.code is None:
                self.signal(signal.SIGKILL)
                if not self.pid:
                    self.end(_KILLED)
        self._nursery.look_round()

    def signal(self, sign: signal.Signals) -> None:
        """Send the worker a signal; SIGKILL goes to its whole session."""
        with self._nursery.change, suppress(ProcessLookupError, PermissionError):
            if self.pid:
                os.kill(self.pid, sign)
                if sign == signal.SIGKILL:
                    os.killpg(self.pid, sign)

    def give_up(self) -> None:
        """Kill the fork server with all its workers, as it does not report the end of this one."""
        self._nursery.abandon()

    def wait(self, seconds: float | None = None) -> int | None:
        """The exit code, negative for a signal; None where it is still running after ``seconds``."""
        with self._nursery.change:
            self._nursery.change.wait_for(lambda: self.code is not None, seconds)
        return self.code

    def end(self, code: int) -> None:
        """Record how it has ended."""
        self.pid, self.code = 0, code
        self._nursery.change.notify_all()
        self._ended()


class ForkServerClient:
    """One fork server, started in the background; raises ``OSError`` where it cannot be."""

    def __init__(self) -> None:
        self.stamp = _stamp()
        self.change = threading.Condition(threading.RLock())
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._expected: deque[ForkedWorker] = deque()
        self._living: dict[int, ForkedWorker] = {}
        self._proven = False  # whether it has forked at least once, or was killed by us before
        self._left = False  # whether it gets no more requests
        self.ended = False
        started: SimpleQueue[OSError | None] = SimpleQueue()
        # The fork server dies with the thread that starts it, so this thread lives as long as this process does.
        threading.Thread(target=self._attend, args=(theirs, started), name="forkserver", daemon=True).start()
        problem = started.get()
        if problem is not None:
            self._socket.close()
            raise problem

    @property
    def barren(self) -> bool:
        """Whether it died by itself before it forked anything."""
        return self.ended and not self._proven

    def ask(self, work: Job, channel: int, notes: int, ended: Callable[[], None]) -> ForkedWorker:
        """Request a worker on this channel; ``ended`` is called when it is gone. Raises ``OSError``."""
        surroundings = {"cwd": _here(), "environment": os.environ | ONE_THREAD}
        request = json.dumps({"work": asdict(work), **surroundings}).encode()
        birth = ForkedWorker(self, ended)
        with self.change:
            if self.ended:
                raise ConnectionResetError("the process that workers are copies of has just ended")
            self._expected.append(birth)
            try:
                socket.send_fds(self._socket, [request], [channel, notes])
            except OSError:
                self._expected.pop()
                raise
        return birth

    def leave(self) -> None:
        """Retire it: it ends as soon as its last worker has."""
        self._left = True
        self.look_round()

    def look_round(self) -> None:
        """End the fork server if it is not needed any more."""
        with self.change:
            wanted = bool(self._living) or any(birth.code is None for birth in self._expected)
            if self.ended or wanted:
                return
            if self._expected and not self._proven:  # its imports may hang
                self._proven = True
                self._forkserver.kill()
            elif self._left:
                self.close()

    def abandon(self) -> None:
        """Kill it, even where it does not listen: stopped by a signal, for one."""
        self._forkserver.kill()

    def close(self) -> None:
        """Let it end now, and its workers with it."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _attend(self, theirs: socket.socket, started: SimpleQueue[OSError | None]) -> None:
        try:
            with theirs:
                self._forkserver = subprocess.Popen(  # noqa: S603
                    [*python_command(), "-m", f"{PACKAGE}.server.worker.forkserver", str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    env=os.environ | ONE_THREAD,
                    start_new_session=True,
                )
        except OSError as problem:
            started.put(problem)
            return
        started.put(None)
        with suppress(ConnectionResetError):
            while said := self._socket.recv(_LONGEST):
                self._hear(json.loads(said))
        self._bury_all(self._forkserver.wait())

    def _hear(self, said: dict[str, Any]) -> None:
        with self.change:
            if "born" in said:
                self._proven = True
                birth = self._expected.popleft()
                birth.pid = birth.number = said["born"]
                self._living[birth.pid] = birth
                if birth.code is not None:  # killed before it was forked
                    birth.signal(signal.SIGKILL)
            else:
                birth = self._living.pop(said["ended"])
                birth.signal(signal.SIGKILL)  # and the processes that it leaves in its session
                birth.end(said["code"] if birth.code is None else birth.code)
                with suppress(OSError):
                    self._socket.send(json.dumps({"bury": said["ended"]}).encode())
        self.look_round()

    def _bury_all(self, code: int) -> None:
        with self.change:
            self.ended = True
            self._socket.close()
            for birth in (*self._expected, *self._living.values()):
                if birth.code is None:
                    birth.end(code)
            self._expected.clear()
            self._living.clear()


_turn = threading.Lock()
_nurseries: list[ForkServerClient] = []  # the present one, or none


def fork_worker(work: Job, channel: int, notes: int, ended: Callable[[], None]) -> ForkedWorker:
    """Have a worker forked; starts the fork server if need be, and replaces it when our code has changed.

    Raises ``OSError`` where that cannot be, and once after a fork server that died before it forked anything.
    """
    with _turn:
        now = _nurseries.pop() if _nurseries else None
        if now is not None and now.barren:
            raise ConnectionResetError("the process that workers are copies of has ended while it was loading")
        if now is None or now.ended or now.stamp != _stamp():
            if now is not None:
                now.leave()
            now = ForkServerClient()
        _nurseries.append(now)
        return now.ask(work, channel, notes, ended)


def _stamp() -> int:
    """A number that differs when a file of ops/ or server/ does, or Python's own settings in the environment."""
    told = [python_command(), sorted(each for each in os.environ.items() if each[0].startswith("PYTHON"))]
    files = []
    for file in source_files():
        with suppress(OSError):
            state = os.stat(file)
            files.append((file, state.st_mtime_ns, state.st_size))
    return hash(repr((told, files)))


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:  # the folder is gone
        return os.sep


def _close() -> None:
    for nursery in _nurseries:
        nursery.close()


def _begin_anew() -> None:
    """Forget the fork server in a forked copy of this process, which has no thread to listen to it."""
    global _turn
    _turn = threading.Lock()
    _nurseries.clear()


atexit.register(_close)
os.register_at_fork(after_in_child=_begin_anew)
