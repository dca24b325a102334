"""A worker process, and this side of the channel to it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress

PACKAGE = __package__.rpartition(".")[0]
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class WorkerProcess:
    """Runs ``server/worker.py`` in a session of its own, so that Ctrl-C in the terminal reaches only the server.

    ``deadline`` is how many seconds a question may take. Raises ``OSError`` where no process can be started.
    """

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.channel, theirs = socket.socketpair()
        with theirs:
            try:
                self._child = subprocess.Popen(  # noqa: S603
                    [*python(), "-m", f"{PACKAGE}.server.worker", str(theirs.fileno()), str(deadline)],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    env=os.environ | ONE_THREAD,
                    start_new_session=True,
                )
            except OSError:
                self.channel.close()
                raise

    @property
    def pid(self) -> int:
        """Its number."""
        return self._child.pid

    def kill(self) -> None:
        """End the process and whatever it has started, now."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, signal.SIGKILL)

    def reap(self) -> str:
        """Wait for the end, kill what lingers after the channel has closed, and say how the end came."""
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(1)
        self.kill()
        code = self._child.wait()
        self.channel.close()
        if code >= 0:
            return f"exit code {code}"
        with suppress(ValueError):
            return f"signal {-code}, {signal.Signals(-code).name}"
        return f"signal {-code}"


def python() -> list[str]:
    """The command that finds this package after ``-m``, and no stranger's modules."""
    # `-m` puts the working directory in front of the path, where a stranger's `torch.py` may lie.
    found_here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) == os.getcwd()
    return [sys.executable] if found_here else [sys.executable, "-P"]
