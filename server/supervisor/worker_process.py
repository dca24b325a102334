"""A worker process as the server holds it: its start, channel, signals, stack dump and exit status; and how many may
compute at once.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from ..protocol.job import ONE_THREAD, Job, python_command
from ..protocol.stack_dump import DUMP_SIGNAL, TOO_MANY_FORKS, StackFrame, parse_stack_dump
from . import forkserver_client

CAN_FORK = sys.platform == "linux"  # elsewhere torch's libraries do not survive a fork
_MAX_DUMP = 2**20  # bytes read of its stack dump
EXIT_REPORT_TIMEOUT = 10.0  # seconds to wait for the fork server to report the end of a killed worker


class WorkerProcess:
    """A worker in its own session, so that Ctrl-C in the terminal only reaches the server.

    It is forked from a process that has imported torch, or started on its own where that cannot be. Raises ``OSError``
    where no process can be started. The text of its ``job`` may be set as long as it is not connected.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self._dump_file = _anonymous_file()
        self.channel, theirs = socket.socketpair()
        with theirs:
            try:
                self._child = _start(job, theirs.fileno(), self._dump_file, self._hang_up)
            except OSError:
                self._close()
                raise

    @property
    def pid(self) -> int:
        """The process id; 0 until it is known, which may take as long as torch loads."""
        return self._child.number

    def waited(self) -> float:
        """Seconds for which it was runnable while other processes had the CPU; 0 where that is not reported."""
        try:
            return 1e-9 * int(Path(f"/proc/{self.pid}/schedstat").read_text().split()[1])
        except (OSError, IndexError, ValueError):
            return 0.0

    def kill(self) -> None:
        """Kill the process and its session, now."""
        self._child.kill()

    def request_stack_dump(self) -> None:
        """Have it dump its stack, which ``stack_dump`` reads soon after."""
        self._child.signal(DUMP_SIGNAL)

    def stack_dump(self) -> tuple[StackFrame, ...]:
        """The stack when it ended or was located, innermost frame first; empty if there is no dump."""
        return parse_stack_dump(self._dump_text())

    @property
    def hit_fork_limit(self) -> bool:
        """Whether it has ended itself at the limit of ``os.fork``."""
        return TOO_MANY_FORKS in self._dump_text()

    def reap(self) -> str:
        """Wait for the end, kill what is still running once the channel is closed, and return the exit status."""
        code = self._child.wait(1)
        if code is None:
            self.kill()
            code = self._child.wait(EXIT_REPORT_TIMEOUT)
        if code is None:
            self._child.give_up()
            code = self._child.wait()
        self._close()
        assert code is not None
        if code >= 0:
            return f"exit code {code}"
        with suppress(ValueError):
            return f"signal {-code}, {signal.Signals(-code).name}"
        return f"signal {-code}"

    def _hang_up(self) -> None:
        # A descendant outside of its session may still hold its end of the channel open.
        with suppress(OSError):
            self.channel.shutdown(socket.SHUT_RDWR)

    def _dump_text(self) -> str:
        if self._dump_file < 0:
            return self._last_dump
        with suppress(OSError):
            return os.pread(self._dump_file, _MAX_DUMP, 0).decode("ascii", "replace")
        return ""

    def _close(self) -> None:
        self._last_dump, dump_fd = self._dump_text(), self._dump_file
        self._dump_file = -1
        self.channel.close()
        if dump_fd >= 0:
            os.close(dump_fd)


class _SpawnedWorker:
    """A worker started as a subprocess of its own, which imports torch itself; with the methods of ``ForkedWorker``."""

    def __init__(self, job: Job, channel: int, dump_fd: int) -> None:
        self._child = subprocess.Popen(  # noqa: S603
            python_command("worker.main", str(channel), str(dump_fd), json.dumps(asdict(job))),
            pass_fds=[channel, dump_fd],
            stdin=subprocess.DEVNULL,
            env=os.environ | ONE_THREAD,
            start_new_session=True,
        )
        self.number = self._child.pid

    def kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.number, signal.SIGKILL)

    def give_up(self) -> None:
        self.kill()

    def signal(self, sign: signal.Signals) -> None:
        self._child.send_signal(sign)

    def wait(self, seconds: float | None = None) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(seconds)
            self.kill()  # the rest of its session
        return self._child.returncode


def _start(
    job: Job, channel: int, dump_fd: int, hang_up: Callable[[], None]
) -> forkserver_client.ForkedWorker | _SpawnedWorker:
    _return_to_start_folder()
    if CAN_FORK:
        try:
            return forkserver_client.fork_worker(job, channel, dump_fd, hang_up)
        except OSError:
            if job.text is not None:  # a subprocess has the environment of the server in its memory
                raise
    return _SpawnedWorker(job, channel, dump_fd)


def _return_to_start_folder() -> None:
    """Go back to the folder the server was started in, if it was moved or deleted and another put in its place."""
    with suppress(OSError):
        for path, old_state in list(_start_folders.items()):
            new_state = os.stat(path)
            if os.path.samestat(os.stat("."), old_state) and not os.path.samestat(new_state, old_state):
                os.chdir(path)
                _start_folders[path] = new_state


def _start_folder() -> dict[str, os.stat_result]:
    with suppress(OSError):  # the folder is gone already
        return {os.getcwd(): os.stat(".")}
    return {}


_start_folders = _start_folder()


def _anonymous_file() -> int:
    if sys.platform == "linux":
        return os.memfd_create("gradloupe")
    from tempfile import TemporaryFile

    with TemporaryFile() as file:
        return os.dup(file.fileno())


_WORKER_BYTES = 2**30  # free bytes of memory that each further worker of a report must have
_MOST = 8  # workers of a server, where nobody says how many
# The quota of a container, and of how many microseconds: in one file, or in two of version 1 of control groups.
_QUOTAS = (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"))


def helper_count(count: int) -> int:
    """How many workers to use for ``count`` Functions, beside the first, where nobody waits for a single answer.

    As many as there are processors: a further worker is a copy of a process that has imported all it needs, and takes
    a tenth of a second; a Function takes three times as long or more.
    """
    if count <= 1 or (cores := usable_cores()) <= 1:
        return 0
    import psutil  # imported late: not needed for one

    return max(0, min(count, cores, psutil.virtual_memory().available // _WORKER_BYTES) - 1)


def default_workers() -> int:
    """How many workers a server has: one for each processor, within reason."""
    return min(_MOST, usable_cores())


def usable_cores(groups: Path = Path("/sys/fs/cgroup")) -> int:
    """The processors that this process may use: those of its affinity, or fewer where a container has a quota."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for files in _QUOTAS:
        with suppress(OSError, ValueError):
            quota, period = (float(word) for name in files for word in (groups / name).read_text().split())
            if quota > 0:  # -1: none
                return max(1, min(cores, int(quota / period)))
    return cores
