"""The report in a terminal and through a pipe: a table of all Functions, below it what is wrong, and where."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.checked_files import Reports, written
from support.command_line import NO_HURRY, exit_code, on_a_terminal, ran
from support.written_functions import formula

from gradloupe.server.config.settings import Settings
from gradloupe.server.report.command import write_report
from gradloupe.server.report.findings import WorstPoint
from gradloupe.server.report.result import CheckResult, ExaminedFunction, Report, SweptSection

NAMES = ["Cube", "Through", "Product", "Crash", "Riddle"]
BOXES = re.compile("[\u2500-\u257f\x1b]")
WRONG = CheckResult(
    "Wrong[red]",
    "differs",
    "backward is wrong.",
    "x: float64[7]",
    (SweptSection("x", "y", -3.0, 3.0, "differs", "word " * 60, fault=True),),
)


@pytest.fixture(scope="module")
def text(reports: Reports) -> Callable[[str], tuple[str, str]]:
    """The table of a report as a pipe gets it, and what stands below it."""

    def halves(line: str) -> tuple[str, str]:
        table, below = reports.forms(f"{line} --check")["text"].stdout.split("\n\n", 1)
        return table, f"\n{below}"

    return halves


Halves = Callable[[str], tuple[str, str]]


def test_the_table_has_a_line_for_every_function(text: Halves) -> None:
    table, _ = text("my_ops.py")
    rows = {row.split()[0]: row for row in table.splitlines()}
    assert [*rows] == ["Function", *NAMES]
    words = ("matches", "differs", "differs", "lost", "unsolved")
    assert [f" {word}" in rows[name] for name, word in zip(NAMES, words, strict=True)] == [True] * 5
    assert "x: float64[7]; factor: float64[7]" in rows["Product"]
    assert "GRADIENT" in rows["Product"]
    assert "float64" not in rows["Riddle"]  # no call was found


def test_below_the_table_stands_what_is_wrong_and_where(text: Halves) -> None:
    _, below = text("my_ops.py")
    assert "\nCube" not in below
    assert re.search(
        r"\nProduct\n  GRADIENT  backward .*?\n  my_ops.py:\d+\n  proof  Refuted .*?\n\nCrash\n.*SIGSEGV",
        below,
        re.DOTALL,
    )
    assert "'riddle'" in below
    assert "--allow Through" in below
    assert "5 Functions: differs 2, matches 1, lost 1, unsolved 1. 4 need attention." in below


def test_a_difference_is_told_once_and_a_warning_under_its_name(text: Halves) -> None:
    _, below = text("my_ops.py")
    assert below.count("\n  GRADIENT  ") == 4
    table, below = text("warned.py")
    names = {"Here": "matches here", "Kept": "SECOND-ORDER", "Nearly": "remark", "Late": "LATE-READ"}
    for name, head in names.items():
        assert re.search(rf"\n{name}\n(  .*\n)*  {head}  ", below)
    assert re.search(r"\nPicky .*matches, scale not at ", table)
    assert re.search(r"\nRow .*matches, backward raises in ", table)
    assert re.search(r"\nNearly .*matches, with a remark ", table)
    assert "\nChance\n" not in below
    assert "matches 8, matches here 2. Well within the range that is looked at; beyond it 2 differ." in unwrapped(below)


def unwrapped(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(("slope", "meant"), [("1.0", True), ("2.0 * x", False)], ids=["stairs", "a parabola"])
def test_what_to_do_if_it_is_meant_is_said_where_forward_stands_still(slope: str, meant: bool, tmp_path: Path) -> None:
    value = "x.round()" if meant else "3 * x * x"
    (tmp_path / "my_ops.py").write_text(written({"Own": formula("x", value, f"g * {slope}")}), encoding="utf-8")
    said = ran(tmp_path, "my_ops.py --check").stdout
    assert "1 Function: differs 1." in said
    assert ("If a difference is meant" in said, "--allow" in said) == (meant, meant)


def test_what_a_backward_raises_is_told_once(tmp_path: Path) -> None:
    raising = formula("x", "x * 2", "[][len(x)]")
    (tmp_path / "my_ops.py").write_text(written({"Own": raising}), encoding="utf-8")
    said = ran(tmp_path, "my_ops.py --check").stdout
    assert said.count("backward raised IndexError") == 1
    assert "BACKWARD-RAISED" in said


def test_a_proof_of_what_differs_beyond_its_range_is_one_of_the_range(text: Halves) -> None:
    table, _ = text("warned.py")
    assert re.search(r"\nHere .* matches here +100 % of the range ", table)


def test_notes_are_counted_and_told_to_who_asks_for_them(text: Halves) -> None:
    for line, told in (("fine.py", 0), ("fine.py --verbose", 2)):
        table, below = text(line)
        assert re.search(r"\nCube .* [1-9] notes?\n", table)
        assert len(re.findall(r"\n  SETUP-CONTEXT  ", below)) == told


def test_a_gradient_that_the_xray_alone_finds_wrong_is_told_as_the_verdict(text: Halves) -> None:
    table, below = text("failing.py")
    assert re.search(r"\nLast .* differs +— +weight\[6\], by .* +GRADIENT$", table, re.MULTILINE)
    assert re.search(r"\nLast\n  GRADIENT  .* in weight: for weight\[6\]", below)
    assert below.count("for weight[6]") == 1
    assert "--allow\nTwice:SECOND-ORDER." in below


def test_through_a_pipe_there_are_no_colours_no_boxes_and_no_progress(folder: Path, text: Halves) -> None:
    table, below = text("my_ops.py")
    assert not BOXES.search(table + below)
    assert [line for line in (table + below).splitlines() if line != line.rstrip()] == []
    done = ran(folder, "fine.py:Cube --check")
    assert (done.stderr, "/1" in done.stdout, done.stdout.count("Cube")) == ("", False, 1)


def test_a_terminal_shows_in_one_line_what_is_looked_at_and_how_far_it_is(folder: Path) -> None:
    said = on_a_terminal(folder, lambda: exit_code("fine.py --check"))
    progress, _, table = said.partition("called with")
    assert re.search(r"(Cube|Through).*[012]/2", progress)
    assert "/2" not in table
    assert re.search(r"torch [^ ]+, \d+\.\d s\.", table)
    assert on_a_terminal(folder, lambda: exit_code("fine.py:Cube --check --format json")).startswith("{")


def test_a_terminal_is_written_to_in_colours_unless_none_are_wanted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report, chosen = Report(("my.py",), (ExaminedFunction(WRONG),), torch="2"), Settings(check=True)
    said = on_a_terminal(folder, lambda: write_report(report, chosen))
    assert "\x1b[31mdiffers" in said
    assert "Wrong[red]" in said

    def colourless() -> None:
        with monkeypatch.context() as patch:
            patch.setenv("NO_COLOR", "1")
            write_report(report, chosen)

    assert "\x1b[31m" not in on_a_terminal(folder, colourless)


@pytest.mark.parametrize(("columns", "wide"), [("40", 100), ("140", 140)])
def test_the_width_of_a_pipe_is_that_of_columns_and_never_less_than_a_hundred(
    columns: str, wide: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    write_report(Report(("my.py",), (ExaminedFunction(WRONG),)), Settings(check=True))
    assert wide - 10 < max(map(len, capsys.readouterr().out.splitlines())) <= wide


def test_the_hint_names_a_function_as_its_file_does_and_as_the_report_does(capsys: pytest.CaptureFixture[str]) -> None:
    op: Any = {"bound": "Layer.Wrong"}
    flat = replace(WRONG, sweeps=(replace(WRONG.sweeps[0], worst=WorstPoint(0.0, 1.0, 0.0, 0.0)),))
    write_report(Report(("my.py",), (ExaminedFunction(flat, op),)), Settings(check=True))
    said = " ".join(capsys.readouterr().out.split())
    assert "Op(Layer.Wrong, " in said
    assert "--allow Wrong[red]." in said


def test_numbers_are_typeset_but_for_those_in_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = replace(WRONG, sentence="at -1e-06 `k = -1e-06` x < -2", sweeps=())
    page = tmp_path / "report.html"
    write_report(Report(("my.py",), (ExaminedFunction(result),)), Settings(check=True, save_html=str(page)))
    assert "at −10⁻⁶ `k = -1e-06` x < −2" in capsys.readouterr().out
    assert "at −10⁻⁶ <code>k = -1e-06</code> x" in page.read_text()


def test_the_help_names_the_exit_codes_and_what_may_be_allowed(folder: Path) -> None:
    said = " ".join(ran(folder, "--help").stdout.split())
    assert "2: nothing could be judged" in said
    assert "NAME:CHECK" in said
    assert NO_HURRY[0] in said
