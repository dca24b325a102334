"""`gradloupe …` as it is typed in a folder, run in this process: its workers are forked from the shared fork server."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Thread

import pytest

from gradloupe import __version__
from gradloupe.server.cli import run
from gradloupe.server.config import REPORT_FORMATS, parse_settings
from gradloupe.server.protocol.job import Job
from gradloupe.server.report.command import write_report
from gradloupe.server.report.runner import examine_targets
from gradloupe.server.supervisor.worker_process import WorkerProcess
from support import event_loop

OF_THE_TERMINAL = ("COLUMNS", "NO_COLOR", "FORCE_COLOR")
NO_HURRY = ("--deadline", "60")  # what is told of a Function is to depend on it, not on how busy this machine is


@dataclass(frozen=True)
class Ran:
    """How the command ended, and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


def ran(folder: Path, line: str) -> Ran:
    """The command with these arguments, started in ``folder``; one that serves is a failure."""
    return _written(folder, lambda: _apart(lambda: _exit_code([*line.split(), *NO_HURRY])))


def _exit_code(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as ended:
        run(arguments)
    code = ended.value.code
    if isinstance(code, str):  # as Python ends a process then
        sys.stderr.write(f"{code}\n")
        return 1
    return code or 0


def _apart(command: Callable[[], int]) -> int:
    """In a thread of its own: in this one the browser's own loop may be running."""
    ended = Future[int]()

    def live() -> None:
        try:
            ended.set_result(command())
        except BaseException as problem:  # noqa: BLE001 - told to whoever waits
            ended.set_exception(problem)

    Thread(target=live, daemon=True).start()
    return ended.result(300)


def in_every_form(folder: Path, line: str) -> dict[str, Ran]:
    """The same ``--check``, its Functions examined once, as it is written in each ``--format``."""
    chosen = parse_settings([*line.split(), *NO_HURRY], {}, __version__)
    with chdir(folder):
        process = WorkerProcess(Job(chosen.deadline, chosen.targets, chosen.loading, chosen.memory, report=True))
        report = event_loop.run(examine_targets(process, chosen.allow, lambda *_: None, True, {}, chosen.strict))
    return {
        form: _written(folder, partial(write_report, report, replace(chosen, format=form))) for form in REPORT_FORMATS
    }


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
