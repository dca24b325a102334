import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from support import event_loop
from support.busy_cpu import on_one_processor
from support.checked_files import CUBE, FAULTY, written

from gradloupe.server.config.settings import Settings
from gradloupe.server.protocol.job import Job
from gradloupe.server.report.command import Wanted, examine_targets, write_report
from gradloupe.server.report.result import Report
from gradloupe.server.supervisor.worker_process import WorkerProcess, helper_count, usable_cores

WORDS = {"Cube0": "matches", "Cube1": "matches", "Product": "differs", "Crash": "lost", "Riddle": "unsolved"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where we are: it has a file of five Functions."""
    (tmp_path / "five.py").write_text(written({"Cube0": CUBE, "Cube1": CUBE, **FAULTY}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


Told = list[tuple[int, int, tuple[str, ...]]]


def report_by(workers: int, target: str, patch: pytest.MonkeyPatch) -> tuple[Report, Told]:
    """The report that so many workers make, and what was told of their progress."""
    patch.setattr("gradloupe.server.report.runner.helper_count", lambda count: workers - 1)
    heard: Told = []
    process = WorkerProcess(Job(targets=(target,), report=True))
    allowed = ["Product"] * (target == "five.py")

    def tell(done: int, total: int, names: Sequence[str]) -> None:
        heard.append((done, total, tuple(names)))

    return event_loop.run(examine_targets(process, Wanted(allowed, tell, True, {}))), heard


def test_the_report_is_the_same_to_the_byte_however_many_workers_make_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    documents = []
    for workers in (1, 3):
        report, _ = report_by(workers, "five.py", monkeypatch)
        assert {each.checked.name: each.checked.word for each in report.found} == WORDS
        assert [each.checked.name for each in report.faulty] == ["Crash", "Riddle"]
        for form in ("text", "json", "junit"):
            assert write_report(report, Settings(check=True, format=form)) == 1
        written = capsysbinary.readouterr().out
        documents.append(re.sub(rb'"seconds": [\d.]+|(?<=name="gradloupe") (.*) time="[\d.]+"', rb"\1", written))
    assert documents[0] == documents[1]


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
    (folder / "once.py").write_text(f"import os\nos.rename('fresh', 'stale')\n{written({'Cube': CUBE, 'Other': CUBE})}")
    (folder / "fresh").touch()
    report, _ = report_by(2, "once.py", monkeypatch)
    assert [each.checked.word for each in report.found] == ["matches", "matches"]


def test_nobody_waits_for_a_helper_that_still_loads_when_nothing_is_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = "import os\nif os.path.exists('loaded'):\n    os.mkfifo('never')\n    open('never')\nopen('loaded', 'w')\n"
    (folder / "late.py").write_text(f"{late}{written({'Cube': CUBE})}")
    report, _ = report_by(2, "late.py", monkeypatch)
    assert [each.checked.word for each in report.found] == ["matches"]


def test_there_are_as_many_workers_as_processors_and_no_more_than_functions() -> None:
    assert helper_count(1) == 0
    assert helper_count(2) <= min(1, usable_cores() - 1)
    assert helper_count(10_000) <= usable_cores() - 1


def test_one_processor_has_one_worker() -> None:
    with on_one_processor():
        assert (usable_cores(), helper_count(100)) == (1, 0)
