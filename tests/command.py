"""`gradloupe …` as it is typed in a folder, run in this process: its workers are forked from the shared fork server."""

from __future__ import annotations

import io
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from gradloupe.__main__ import run

OF_THE_TERMINAL = ("COLUMNS", "NO_COLOR", "FORCE_COLOR")


@dataclass(frozen=True)
class Ran:
    """How the command ended, and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


def ran(folder: Path, line: str, **environment: str) -> Ran:
    """The command with these arguments, started in ``folder``; its output goes through pipes."""
    out, err = _pipe(), _pipe()
    with pytest.MonkeyPatch.context() as patch, chdir(folder), redirect_stdout(out), redirect_stderr(err):
        for name in OF_THE_TERMINAL:
            patch.delenv(name, raising=False)
        for name, text in environment.items():
            patch.setenv(name, text)
        with ThreadPoolExecutor(1) as alone:  # in this thread the browser's own loop may be running
            code = alone.submit(_exit_code, line.split()).result()
    return Ran(code, _read(out), _read(err))


def _exit_code(arguments: list[str]) -> int:
    """As Python ends a process: a sentence goes to the standard error, and the code is 1."""
    with pytest.raises(SystemExit) as ended:
        run(arguments)
    code = ended.value.code
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
        return 1
    return code or 0


def _pipe() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _read(pipe: io.TextIOWrapper) -> str:
    pipe.seek(0)
    return pipe.read()
