"""A report is made by all processors, tells how far it is in a terminal, and says the same however many there are."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support import event_loop
from support.busy_cpu import on_one_processor
from support.command_line import NO_HURRY, OF_THE_TERMINAL
from support.faulty_source import FAULTY

from gradloupe import __version__
from gradloupe.server.config import parse_settings
from gradloupe.server.protocol.job import Job
from gradloupe.server.report import examination_queue
from gradloupe.server.report.command import write_report
from gradloupe.server.report.examination_queue import helper_count, usable_cores
from gradloupe.server.report.result import Report
from gradloupe.server.report.runner import examine_all
from gradloupe.server.supervisor.worker_process import WorkerProcess

CUBE = '''
class Cube(torch.autograd.Function):
    """A cube."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad_output
'''
WORDS = {"Cube0": "matches", "Cube1": "matches", "Product": "differs", "Crash": "lost", "Riddle": "unsolved"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where we are: it has a file of five Functions."""
    cubes = "\n".join(CUBE.replace("Cube", f"Cube{number}") for number in range(2))
    (tmp_path / "five.py").write_text(f"import os\nimport torch\n\n{cubes}\n{FAULTY}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


Told = list[tuple[int, int, tuple[str, ...]]]


def report_by(workers: int, target: str, patch: pytest.MonkeyPatch) -> tuple[Report, Told]:
    """The report that so many workers make, and what was told of their progress."""
    patch.setattr(sys.modules[examine_all.__module__], "helper_count", lambda count: workers - 1)
    heard: Told = []
    process = WorkerProcess(Job(targets=(target,), report=True))

    def tell(done: int, total: int, names: Sequence[str]) -> None:
        heard.append((done, total, tuple(names)))

    return event_loop.run(examine_all(process, ["Product"] * (target == "five.py"), tell)), heard


def test_the_report_is_the_same_to_the_byte_however_many_workers_make_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    documents = []
    for workers in (1, 2, 4):
        report, _ = report_by(workers, "five.py", monkeypatch)
        assert {each.checked.name: each.checked.word for each in report.found} == WORDS
        assert [each.checked.name for each in report.faulty] == ["Crash", "Riddle"]
        for form in ("text", "json", "junit"):
            chosen = parse_settings(["five.py", "--check", "--format", form], {}, __version__)
            assert write_report(report, chosen) == 1
        written = capsysbinary.readouterr().out
        documents.append(re.sub(rb'"seconds": [\d.]+|(?<=name="gradloupe") (.*) time="[\d.]+"', rb"\1", written))
    assert documents[0] == documents[1] == documents[2]


def test_it_is_told_which_functions_are_under_way_and_how_many_are_done(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, heard = report_by(2, "five.py", monkeypatch)
    assert {total for _, total, _ in heard} == {5}
    assert {name for _, _, names in heard for name in names} == WORDS.keys()
    assert max(len(names) for _, _, names in heard) == 2
    assert [done for done, _, _ in heard] == sorted(done for done, _, _ in heard)
    assert heard[-1] == (5, 5, ())


def test_what_a_helper_cannot_load_is_examined_by_the_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    once = "import os\nos.rename('fresh', 'stale')\nimport torch\n"
    (folder / "once.py").write_text(once + CUBE + CUBE.replace("Cube", "Other"))
    (folder / "fresh").touch()
    report, _ = report_by(2, "once.py", monkeypatch)
    assert [each.checked.word for each in report.found] == ["matches", "matches"]


def test_nobody_waits_for_a_helper_that_still_loads_when_nothing_is_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = "import os\nif os.path.exists('loaded'):\n    os.mkfifo('never')\n    open('never')\nopen('loaded', 'w')\n"
    (folder / "late.py").write_text(f"{late}import torch\n{CUBE}")
    report, _ = report_by(2, "late.py", monkeypatch)
    assert [each.checked.word for each in report.found] == ["matches"]


def test_there_are_as_many_workers_as_processors_and_no_more_than_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert helper_count(1) == 0
    assert helper_count(2) <= min(1, usable_cores() - 1)
    assert helper_count(10_000) <= usable_cores() - 1
    quota = tmp_path / "cpu.max"
    monkeypatch.setattr(examination_queue, "_QUOTA", quota)
    for text, least, most in (("max 100000", usable_cores(), 10_000), ("150000 100000", 1, 1), ("50000 100000", 1, 1)):
        quota.write_text(text)
        assert least <= usable_cores() <= most


def test_one_processor_has_one_worker() -> None:
    with on_one_processor():
        assert (usable_cores(), helper_count(100)) == (1, 0)


def on_a_terminal(folder: Path, *arguments: str) -> str:
    """What the command writes to a terminal that is its standard output and standard error."""
    ours, theirs = pty.openpty()
    clean = {name: value for name, value in os.environ.items() if name not in OF_THE_TERMINAL} | {"TERM": "xterm"}
    command = [sys.executable, "-m", "gradloupe", *arguments, *NO_HURRY]
    with subprocess.Popen(command, cwd=folder, env=clean, stdout=theirs, stderr=theirs, stdin=theirs):
        os.close(theirs)
        read = bytearray()
        with os.fdopen(ours, "rb") as terminal, suppress(OSError):  # which is how the end of a terminal is told
            while some := terminal.read1(65536):
                read += some
    return read.decode()


def test_a_terminal_shows_in_one_line_what_is_looked_at_and_how_far_it_is(folder: Path) -> None:
    said = on_a_terminal(folder, "five.py:Cube0", "five.py:Product", "--check")
    progress, _, table = said.partition("called with")
    assert re.search(r"(Cube0|Product).*[012]/2", progress)
    assert "/2" not in table
    assert re.search(r"torch [^ ]+, \d+\.\d s\.", table)
    assert json.loads(on_a_terminal(folder, "five.py:Cube0", "--check", "--format", "json"))["ok"]


@pytest.mark.parametrize("forced", [{}, {"FORCE_COLOR": "1"}])
def test_a_pipe_gets_nothing_of_it(folder: Path, forced: dict[str, Any]) -> None:
    command = [sys.executable, "-m", "gradloupe", "five.py:Cube0", "--check", *NO_HURRY]
    clean = {name: value for name, value in os.environ.items() if name not in OF_THE_TERMINAL}
    ended = subprocess.run(command, cwd=folder, env=clean | forced, capture_output=True, text=True, check=True)
    assert (ended.stderr, "0/1" in ended.stdout, ended.stdout.count("Cube0")) == ("", False, 1)
