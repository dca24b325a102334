"""The child processes of a worker: lists them, and ends those that user code has left behind."""

import gc
import os
import signal
import subprocess
import time
from collections.abc import Container
from contextlib import suppress
from pathlib import Path

RETURNED_FORK = 113  # exit code of a forked copy of a worker that has returned from user code into ours
_POLL_INTERVAL = 0.001  # seconds between two polls of a process


def end_children(spared: Container[int] = (), patience: float = 0.0) -> int:
    """End the children of this process but for the ``spared``, and the orphans that are reparented to it by that.

    Returns how many were still running after ``patience`` seconds for all, or had returned into our code; 0
    where the system does not list the children of a process.
    """
    ended, until = 0, time.monotonic() + patience
    while children := [child for child in child_pids() if child not in spared]:
        ended += sum(_wait_or_kill(child, until) for child in children)
    return ended


def child_pids() -> list[int]:
    """The process ids of the children of this process, zombies included."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # the usual case, by one system call
        return []
    try:
        lists = [task.read_text() for task in Path("/proc/self/task").glob("*/children")]
    except OSError:
        return []
    return [int(child) for each in lists for child in each.split()]


def referenced_children() -> set[int]:
    """The children that user code still refers to: by multiprocessing, or as a ``Popen``.

    A process whose ``Popen`` was garbage collected is not one of them.
    """
    from multiprocessing import active_children, forkserver, resource_tracker

    helpers = (
        getattr(forkserver, "_forkserver", None),  # shared by all pools with the start method forkserver
        getattr(resource_tracker, "_resource_tracker", None),
    )
    pids = [getattr(each, name, None) for each in helpers for name in ("_forkserver_pid", "_pid")]
    unreferenced = {id(each) for each in getattr(subprocess, "_active", None) or ()}
    started = [each for each in gc.get_objects() if issubclass(type(each), subprocess.Popen)]
    pids += [each.pid for each in started if id(each) not in unreferenced]
    return {each for each in (*pids, *(child.pid for child in active_children())) if each is not None}


def _wait_or_kill(child: int, until: float) -> bool:
    """Whether the child had to be killed, or is a forked copy that had returned into our code."""
    with suppress(ChildProcessError):
        while not (status := os.waitpid(child, os.WNOHANG))[0]:
            if time.monotonic() >= until:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return True
            time.sleep(_POLL_INTERVAL)
        return os.waitstatus_to_exitcode(status[1]) == RETURNED_FORK
    return False
