"""What a limit leaves undone is told, with the last line that ran, is tried again where chance had a part, and is never
green.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import event_loop

from gradloupe import __version__
from gradloupe.server.config import parse_settings
from gradloupe.server.protocol.job import Job
from gradloupe.server.report.command import write_report
from gradloupe.server.report.examination_queue import chance_had_a_part
from gradloupe.server.report.result import CheckResult, Report
from gradloupe.server.report.runner import examine_targets
from gradloupe.server.supervisor.crash_report import ExceededLimit, WorkerLost
from gradloupe.server.supervisor.worker_process import WorkerProcess

HEAD = "import os\nimport threading\n\nimport torch\n\n"
SUM = '''
class Sum(torch.autograd.Function):
    """A sum of three tensors."""

    @staticmethod
    def forward(ctx, a, b, c):
        FORWARD
        return a + b + c

    @staticmethod
    def backward(ctx, grad_output):
        BACKWARD
        return grad_output, grad_output, grad_output
'''
FAR = "if ((b > 2.94) & (b < 2.98)).any():\n            "  # reached only where b is swept
BURNS = """
def burns(x):
    for _ in range(10**9):
        x = torch.cos(x)
    return x

"""

Check = Callable[..., Report]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """The report on a file with this text, each answer within five seconds."""
    monkeypatch.chdir(tmp_path)

    def examined(text: str, deadline: float = 5.0, memory: int = 0) -> Report:
        (tmp_path / "my_ops.py").write_text(HEAD + text)
        process = WorkerProcess(Job(deadline, ("my_ops.py",), memory=memory, report=True))
        return event_loop.run(examine_targets(process, (), lambda *_: None, False, {}))

    return examined


def function(forward: str = "pass", backward: str = "pass") -> str:
    return SUM.replace("FORWARD", forward).replace("BACKWARD", backward)


def only(report: Report) -> CheckResult:
    (found,) = report.found
    return found.checked


def said(report: Report, capsysbinary: pytest.CaptureFixture[bytes], form: str) -> str:
    chosen = parse_settings(["my_ops.py", "--check", "--format", form], {}, __version__)
    write_report(report, chosen)
    return " ".join(capsysbinary.readouterr().out.decode().split())


def test_time_that_is_lost_in_the_second_input_leaves_the_third_unswept(
    check: Check, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    report = check(BURNS + function(FAR + "burns(b)"))
    result = only(report)
    assert (result.word, result.ok, result.unswept, report.code) == ("lost", False, ("c",), 1)
    place = "last line: my_ops.py, line 9, in burns: `x = torch.cos(x)`"
    assert place in result.sentence
    assert "was ended at the deadline of 5 s (--deadline)" in result.sentence
    for form in ("text", "json", "junit"):
        assert place in said(report, capsysbinary, form)


@pytest.mark.parametrize(
    ("where", "deed", "place"),
    [
        ("forward", "burns(b)", "my_ops.py, line {burns}, in burns: `x = torch.cos(x)`"),
        ("backward", "burns(grad_output)", "my_ops.py, line {burns}, in burns: `x = torch.cos(x)`"),
        ("backward", "threading.Event().wait()", "my_ops.py, line {own}, in backward: `threading.Event().wait()`"),
        ("forward", "while True: pass", "my_ops.py, line {own}, in forward: `while True: pass`"),
    ],
)
def test_what_never_comes_back_is_not_judged_and_its_last_line_is_named(
    check: Check, where: str, deed: str, place: str
) -> None:
    text = BURNS + function(**{where: deed})
    lines = [line.strip() for line in (HEAD + text).splitlines()]
    report = check(text)
    result = only(report)
    assert (result.word, report.code) == ("unsolved", 2)
    assert f"{where} did not return within" in result.sentence
    known = {"burns": lines.index("x = torch.cos(x)") + 1, "own": lines.index(deed) + 1 if deed in lines else 0}
    assert place.format(**known) in result.sentence


def test_what_only_the_xray_hangs_in_is_named_there_with_its_line(check: Check) -> None:
    text = function(backward="if torch.is_grad_enabled():\n            burns(grad_output)")
    report = check(BURNS + text, deadline=60)
    seen = [each.seen for each in only(report).findings if "did not return" in each.seen]
    assert seen
    assert all("last line: my_ops.py, line 9, in burns: `x = torch.cos(x)`" in each for each in seen)


def test_a_worker_that_was_lost_once_is_not_missed(check: Check, tmp_path: Path) -> None:
    (tmp_path / "once").touch()
    report = check(function(FAR + "if os.path.exists('once'): os.remove('once'), os._exit(1)"))
    assert not (tmp_path / "once").exists()
    assert (only(report).word, only(report).ok, report.code) == ("matches", True, 0)


def test_one_that_always_ends_its_worker_is_asked_twice_and_that_is_said_once(check: Check, tmp_path: Path) -> None:
    report = check(function(FAR + "open('seen', 'a').write(f'{os.getpid()}\\n'), os._exit(1)"))
    result = only(report)
    assert (result.word, result.unswept, report.code) == ("lost", ("c",), 1)
    assert result.sentence.endswith("It was run twice, the second time alone.")
    assert result.sentence.count("run twice") == 1
    assert "called exit with code 1" in result.sentence
    assert len(set((tmp_path / "seen").read_text().split())) == 2


def test_only_what_may_fare_better_alone_is_asked_again() -> None:
    """At a limit of time where other processes took a part of it; wherever a worker died by itself."""
    late, held_up = ExceededLimit("Timeout", "deadline"), ExceededLimit("Timeout", "deadline", waited=True)
    assert not chance_had_a_part(None, shared=True)
    assert chance_had_a_part(WorkerLost("signal 9, SIGKILL"), shared=False)
    for limit, shared, again in ((late, False, False), (late, True, True), (held_up, False, True)):
        assert chance_had_a_part(WorkerLost("signal 9, SIGKILL", limit), shared) == again
    assert not chance_had_a_part(WorkerLost("signal 9, SIGKILL", ExceededLimit("Memory", "limit")), shared=True)


def test_a_limit_of_memory_would_be_met_again(check: Check, tmp_path: Path) -> None:
    eats = "open('seen', 'a').write(f'{os.getpid()}\\n'); kept = [bytes([1]) * 2**23 for _ in range(1000)]"
    report = check(function(FAR + eats), memory=800, deadline=60)
    assert (only(report).word, report.code) == ("lost", 1)
    assert "memory limit of 800 MiB" in only(report).sentence
    assert "kept = [bytes([1])" in only(report).sentence
    assert len(set((tmp_path / "seen").read_text().split())) == 1


ONE = '''
class One(torch.autograd.Function):
    """The sine, with a backward that ends its process if it is to be differentiated."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            os._exit(1)
        return grad_output * torch.cos(ctx.saved_tensors[0])
'''


def test_an_xray_that_is_lost_is_not_green(check: Check, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """Its only input was swept; what the X-ray would have said is not known."""
    report = check(ONE)
    result = only(report)
    assert [each.word for each in result.sweeps] == ["matches"]
    assert (result.word, result.ok, report.code) == ("lost", False, 1)
    assert "in backward: `os._exit(1)`" in result.sentence
    found: dict[str, Any] = json.loads(said(report, capsysbinary, "json"))["functions"][0]
    assert [each["id"] for each in found["faults"]] == ["NOT-LOOKED-AT"]
    assert re.search(r"NOT-LOOKED-AT The X-ray: The worker process ", said(report, capsysbinary, "text"))


OURS = """

_without_fault = {name}


def {name}(*given, **named):
    {{}}["a fault of our own"]
"""


@pytest.mark.parametrize(("file", "name"), [("report/summarize", "_swept"), ("worker/answer", "answer_question")])
def test_an_error_of_our_own_is_said_to_be_with_its_place(package_copy: Path, file: str, name: str) -> None:
    """Whether it is in the process that reports, or in the one that runs the Function."""
    with (package_copy / "server" / f"{file}.py").open("a") as source:
        source.write(OURS.format(name=name))
    (package_copy.parent / "my_ops.py").write_text(HEAD + ONE)
    command = [sys.executable, "-m", package_copy.name, "my_ops.py", "--check", "--format", "json"]
    path = {"PYTHONPATH": str(package_copy.parent)}
    ended = subprocess.run(command, cwd=package_copy.parent, env=os.environ | path, capture_output=True, check=False)
    (found,) = json.loads(ended.stdout)["functions"]
    assert (ended.returncode, found["word"], found["ok"]) == (2, "undecided", False)
    sentence = found["sentence"]
    assert sentence.startswith("This is an error of Gradloupe itself, and says nothing about the Function: KeyError: ")
    assert re.search(rf"a fault of our own' \({file}.py, line \d+\)\. Please report it, ", sentence)
    assert b"Traceback" in ended.stderr
