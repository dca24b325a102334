"""Sandbox of a worker, set up before user code runs: no output, no core dump, fork limit, death with the parent; and
the child processes that user code has left behind.
"""

import ctypes
import faulthandler
import gc
import os
import resource
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Container, Iterable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from ..paths import SERVER
from ..protocol.stack_dump import DUMP_SIGNAL, MAX_FORKS, TOO_MANY_FORKS, StackFrame, format_stack

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


class _ForkLimit:
    """Limits ``os.fork`` in user code, from now on.

    A forked copy that would fork again exits instead. In this process itself ``too_many`` is called, with the calling
    frame, in the place of the fork that exceeds the limit.
    """

    def __init__(self, too_many: Callable[[FrameType], None]) -> None:
        self._too_many = too_many
        self._is_child = self._by_us = False
        os.register_at_fork(before=self._before, after_in_child=self._in_child)

    def _before(self) -> None:
        frame = sys._getframe(1)
        self._by_us = frame.f_code.co_filename.startswith(SERVER)
        if self._by_us:
            return
        if self._is_child:
            os._exit(0)
        if len(child_pids()) >= MAX_FORKS:
            self._too_many(frame)

    def _in_child(self) -> None:
        self._is_child = self._is_child or not self._by_us


# Of prctl(2): the signal a process gets when its parent dies, and adoption of orphaned descendants.
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
_disable_faulthandler = faulthandler.disable


class Sandbox:
    """Nothing of this process is printed or survives its parent; where it ends, its stack is written to ``notes``.

    ``notes`` is a descriptor of a file that the server reads once this process is gone.
    """

    def __init__(self, notes: int) -> None:
        die_with_parent()
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, 1)
        os.close(devnull)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with suppress(OSError):  # on Linux, the first to be killed when memory runs out
            Path("/proc/self/oom_score_adj").write_text("1000")
        self._dump_file, self._pid, self._exit = notes, os.getpid(), os._exit
        os.set_inheritable(notes, False)
        faulthandler.enable(notes)
        faulthandler.register(DUMP_SIGNAL, notes)
        # User code may enable faulthandler, but the dumps go on to the server.
        faulthandler.enable, faulthandler.disable = (lambda *_, **__: None), (lambda: None)
        os.register_at_fork(after_in_child=_exit_on_return)
        _ForkLimit(self._too_many)
        os._exit = self._exit_with_dump

    def run(self, work: Callable[[], None]) -> None:
        """Do the work; ``SystemExit`` from user code ends the process at once."""
        try:
            work()
        except SystemExit as end:
            self._leave(end)

    def _leave(self, end: SystemExit) -> NoReturn:
        self._write_stack(traceback.extract_tb(end.__traceback__))
        self._exit((end.code & 0xFF) if isinstance(end.code, int) else int(end.code is not None))

    def _too_many(self, frame: FrameType) -> NoReturn:
        """End the process in the place of a fork too many."""
        with suppress(ValueError):  # only the main thread may set handlers
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
        if os.getpid() == self._pid:
            self._write_stack(traceback.extract_stack(frame), TOO_MANY_FORKS)
        end_children()
        self._exit(1)

    def _write_stack(self, calls: Iterable[traceback.FrameSummary], why: str = "") -> None:
        note = why + format_stack(StackFrame(call.filename, call.lineno or 0, call.name) for call in reversed([*calls]))
        with suppress(OSError):
            os.write(self._dump_file, note.encode("ascii", "backslashreplace"))

    def _exit_with_dump(self, status: int) -> NoReturn:
        """Replaces ``os._exit`` in this process: dumps the stack first."""
        if os.getpid() == self._pid:
            faulthandler.dump_traceback(self._dump_file, all_threads=False)
        self._exit(status)


def _exit_on_return() -> None:
    """In a forked copy of the worker: end it when it returns from user code."""
    _disable_faulthandler()
    inner = sys._getframe(1)
    if _is_ours(inner):
        return
    while inner.f_back is not None and not _is_ours(inner.f_back):
        inner = inner.f_back

    def returns(frame: FrameType, event: str, _: object) -> None:
        if frame is inner and event == "return":
            os._exit(RETURNED_FORK)

    sys.setprofile(returns)


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(SERVER)


def die_with_parent() -> None:
    """Have this process killed when the thread that started it ends, where the system can (PR_SET_PDEATHSIG)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def become_subreaper() -> None:
    """Become the parent of orphaned descendants, where the system can do that (PR_SET_CHILD_SUBREAPER)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
