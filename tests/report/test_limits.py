import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import event_loop
from support.written_functions import class_source

from gradloupe.server.config.settings import Settings
from gradloupe.server.protocol.job import Job
from gradloupe.server.report.command import Wanted, examine_targets, write_report
from gradloupe.server.report.result import CheckResult, Report
from gradloupe.server.report.runner import chance_had_a_part
from gradloupe.server.supervisor.crash_report import ExceededLimit, WorkerLost
from gradloupe.server.supervisor.worker_process import WorkerProcess

HEAD = "import os\nimport signal\nimport threading\n\nimport torch\n\n"
FAR = "if ((b > 2.94) & (b < 2.98)).any(): "  # reached only where b is swept
BURNS = """
def burns(x):
    for _ in range(10**9):
        x = torch.cos(x)
    return x

"""

Check = Callable[..., Report]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """The report on a file with this text, each answer within a second."""
    monkeypatch.chdir(tmp_path)

    def examined(text: str, deadline: float = 1.0, memory: int = 0) -> Report:
        (tmp_path / "my_ops.py").write_text(HEAD + text)
        process = WorkerProcess(Job(deadline, ("my_ops.py",), memory=memory, report=True))
        return event_loop.run(examine_targets(process, Wanted((), lambda *_: None, False, {})))

    return examined


def function(forward: str = "pass", backward: str = "pass") -> str:
    """The source of a sum of three tensors that also does this."""
    return class_source(f"""
        def forward(ctx, a, b, c):
            {forward}
            return a + b + c
        def backward(ctx, grad_output):
            {backward}
            return grad_output, grad_output, grad_output
    """)


def only(report: Report) -> CheckResult:
    (found,) = report.found
    return found.checked


def said(report: Report, capsysbinary: pytest.CaptureFixture[bytes], form: str) -> str:
    write_report(report, Settings(check=True, format=form))
    return " ".join(capsysbinary.readouterr().out.decode().split())


def test_time_that_is_lost_in_the_second_input_leaves_the_third_unswept(
    check: Check, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    report = check(BURNS + function(FAR + "(signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]), burns(b))"))
    result = only(report)
    assert (result.word, result.ok, result.unswept, report.code) == ("lost", False, ("c",), 1)
    place = "last line: my_ops.py, line 10, in burns: `x = torch.cos(x)`"
    assert place in result.sentence
    assert "the deadline of 1 s (" in result.sentence
    for form in ("text", "json", "junit"):
        assert place in said(report, capsysbinary, form)


def test_what_can_be_interrupted_is_left_there_and_how_much_was_looked_at_is_said(
    check: Check, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    report = check(BURNS + function(FAR + "burns(b)"), deadline=4)
    assert (only(report).word, only(report).unswept, report.code) == ("matches", (), 0)
    assert [(each.id, each.input) for each in only(report).warnings] == [("few points", "b")]
    text = said(report, capsysbinary, "text")
    assert "so few points were looked at, and only their slopes. --deadline gives it more time." in text
    assert "All is well, as far as there was time to look." in text


@pytest.mark.parametrize(
    ("forward", "backward"),
    [(0.5, 0.5), *(pytest.param(0.75, backward, marks=pytest.mark.nightly) for backward in (0.75, 0.0))],
)
def test_nothing_of_a_slow_function_is_lost(forward: float, backward: float, check: Check) -> None:
    """Half a second to one and a half of ten that there are."""
    deed = "threading.Event().wait({})"
    report = check(function(deed.format(forward / 2), deed.format(backward / 2)), deadline=5)
    result = only(report)
    assert (result.word, result.ok, result.hurried, result.unswept) == ("matches", True, True, ())
    (omitted,) = [each.seen for each in result.findings if each.id == "NOT-LOOKED-AT"]
    assert "the Function takes too long for all checks; the first call took" in omitted
    assert [each.level for each in result.findings if each.id == "GRAD-DTYPE"] == ["fine"]


def test_what_never_comes_back_is_not_judged_and_its_last_line_is_named(check: Check) -> None:
    deed = "threading.Event().wait()"
    text = function(backward=deed)
    report = check(text, deadline=60)
    result = only(report)
    assert (result.word, report.code) == ("unsolved", 2)
    assert "backward did not return within" in result.sentence
    line = [line.strip() for line in (HEAD + text).splitlines()].index(deed) + 1
    assert f"my_ops.py, line {line}, in backward: `{deed}`" in result.sentence


@pytest.mark.nightly
def test_what_only_the_xray_hangs_in_is_named_there_with_its_line(check: Check) -> None:
    text = function(backward="if torch.is_grad_enabled(): burns(grad_output)")
    report = check(BURNS + text, deadline=60)
    seen = [each.seen for each in only(report).findings if "did not return" in each.seen]
    assert seen
    assert all("last line: my_ops.py, line 10, in burns: `x = torch.cos(x)`" in each for each in seen)


def test_a_worker_that_was_lost_once_is_not_missed(check: Check, tmp_path: Path) -> None:
    (tmp_path / "once").touch()
    report = check(function(f"{FAR}os.path.exists('once') and (os.remove('once'), os._exit(1))"), deadline=60)
    assert not (tmp_path / "once").exists()
    assert (only(report).word, only(report).ok, report.code) == ("matches", True, 0)


def test_one_that_always_ends_its_worker_is_asked_twice_and_that_is_said_once(check: Check, tmp_path: Path) -> None:
    report = check(function(f"{FAR}open('seen', 'a').write(f'{{os.getpid()}}\\n'), os._exit(1)"), deadline=60)
    result = only(report)
    assert (result.word, result.unswept, report.code) == ("lost", ("c",), 1)
    assert result.sentence.endswith("the second time alone.")
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


# The sine, with a backward that ends its process if it is to be differentiated.
ONE = """
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x)
    def backward(ctx, grad_output):
        if grad_output.requires_grad:
            os._exit(1)
        return grad_output * torch.cos(ctx.saved_tensors[0])
"""


def test_an_xray_that_is_lost_is_not_green(check: Check, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """Its only input was swept; what the X-ray would have said is not known."""
    report = check(class_source(ONE), deadline=60)
    result = only(report)
    assert [each.word for each in result.sweeps] == ["matches"]
    assert (result.word, result.ok, report.code) == ("lost", False, 1)
    assert "in backward: `os._exit(1)`" in result.sentence
    found: dict[str, Any] = json.loads(said(report, capsysbinary, "json"))["functions"][0]
    assert [each["id"] for each in found["faults"]] == ["NOT-LOOKED-AT"]
    assert re.search(r"NOT-LOOKED-AT The X-ray: ", said(report, capsysbinary, "text"))
