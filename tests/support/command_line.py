"""`gradloupe …` as it is typed in a folder, run in this process: its workers are forked from the shared fork server."""

import io
import os
import pty
import shlex
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TypeVar

import pytest

from gradloupe import __version__
from gradloupe.server.cli import run
from gradloupe.server.config.settings import REPORT_FORMATS, parse_settings
from gradloupe.server.protocol.job import Job
from gradloupe.server.report.command import Wanted, examine_targets, write_report
from gradloupe.server.supervisor.worker_process import WorkerProcess
from support import event_loop

OF_THE_TERMINAL = ("COLUMNS", "NO_COLOR", "FORCE_COLOR")
NO_HURRY = ("--deadline", "60")  # what is told of a Function is to depend on it, not on how busy this machine is

T = TypeVar("T")


@dataclass(frozen=True)
class Ran:
    """How the command ended, and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


def ran(folder: Path, line: str) -> Ran:
    """The command with these arguments, started in ``folder``; one that serves is a failure."""
    return _written(folder, lambda: _apart(lambda: exit_code(line)))


def exit_code(line: str) -> int:
    """The exit code of the command with these arguments."""
    with pytest.raises(SystemExit) as ended:
        run([*shlex.split(line), *NO_HURRY])
    code = ended.value.code
    if isinstance(code, str):  # as Python ends a process then
        sys.stderr.write(f"{code}\n")
        return 1
    return code or 0


def _apart(command: Callable[[], T]) -> T:
    """In a thread of its own: in this one the browser's own loop may be running."""
    ended = Future[T]()

    def live() -> None:
        try:
            ended.set_result(command())
        except BaseException as problem:  # noqa: BLE001 - told to whoever waits
            ended.set_exception(problem)

    Thread(target=live, daemon=True).start()
    return ended.result(300)


def in_every_form(folder: Path, line: str) -> dict[str, Ran]:
    """The same ``--check``, its Functions examined once, as it is written in each ``--format``."""
    chosen = parse_settings([*shlex.split(line), *NO_HURRY], {}, __version__)
    with chdir(folder):
        limits = (chosen.deadline, chosen.targets, chosen.loading, chosen.memory)
        process = WorkerProcess(Job(*limits, report=True, recipes=chosen.recipe))
        wanted = Wanted(chosen.allow, lambda *_: None, True, {}, chosen.strict)
        report = event_loop.run(examine_targets(process, wanted))
    return {
        form: _written(folder, partial(write_report, report, replace(chosen, format=form))) for form in REPORT_FORMATS
    }


def on_a_terminal(folder: Path, command: Callable[[], object]) -> str:
    """What a command writes that has a terminal for its standard output and standard error."""
    ours, theirs = pty.openpty()
    with pytest.MonkeyPatch.context() as patch, chdir(folder), ThreadPoolExecutor(1) as reader:
        patch.setenv("TERM", "xterm")
        for name in OF_THE_TERMINAL:
            patch.delenv(name, raising=False)
        read = reader.submit(_read_to_the_end, ours)
        with os.fdopen(theirs, "w") as terminal, redirect_stdout(terminal), redirect_stderr(terminal):
            _apart(command)
        return read.result()


def _read_to_the_end(terminal: int) -> str:
    read = bytearray()
    with os.fdopen(terminal, "rb") as stream, suppress(OSError):  # which is how the end of a terminal is told
        while some := stream.read1(65536):
            read += some
    return read.decode()


def _written(folder: Path, command: Callable[[], int]) -> Ran:
    """What a command writes, through pipes."""
    out, err = _pipe(), _pipe()
    with pytest.MonkeyPatch.context() as patch, chdir(folder), redirect_stdout(out), redirect_stderr(err):
        for name in OF_THE_TERMINAL:
            patch.delenv(name, raising=False)
        code = command()
    return Ran(code, _read(out), _read(err))


def _pipe() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _read(pipe: io.TextIOWrapper) -> str:
    pipe.seek(0)
    return pipe.read()


def bare_pytest(folder: Path, *options: str) -> Ran:
    """pytest on the tests in a folder, without any plugin that happens to be installed."""
    command = [sys.executable, "-m", "pytest", "-q", *options, "-p", "no:cacheprovider", "--rootdir", folder, folder]
    bare = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=folder, env=bare, capture_output=True, text=True, timeout=240, check=False)
    return Ran(done.returncode, done.stdout, done.stderr)
