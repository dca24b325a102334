"""What a check cannot do, or does by half, is told in a sentence and by the exit code, and is never green."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from html import unescape
from pathlib import Path
from textwrap import indent
from xml.etree import ElementTree

import pytest
from support.busy_cpu import on_one_processor
from support.checked_files import CUBE, written
from support.command_line import in_every_form, ran
from support.sampling import sampled
from support.waiting import written_into

from gradloupe.server.config.settings import REPORT_FORMATS, Settings
from gradloupe.server.protocol.question import Element
from gradloupe.server.report.command import write_report
from gradloupe.server.report.result import CheckResult, ExaminedFunction, Report, SweptSection
from gradloupe.server.url.address import Address, default_address

MANY = "def forward(ctx, a, b, c, d): return a + b + c + d\ndef backward(ctx, grad_output): return (grad_output,) * 4"
LOCK = """
    def forward(ctx, x):
        if x.shape != (3, 5, 9, 11, 17):
            raise LookupError("it does not fit")
        return x * 1
"""


def report_of(folder: Path, line: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(ran(folder, f"{line} --check --format json").stdout)
    return found


def test_a_check_that_is_allowed_must_be_one_that_was_made(folder: Path) -> None:
    process = ran(folder, "fine.py:Cube --check --allow Cube:SECOND-ODER")
    assert (process.returncode, process.stdout) == (2, "")
    assert process.stderr.startswith("gradloupe: --allow Cube:SECOND-ODER names no ")
    assert "GRADIENT, " in process.stderr


def test_a_function_that_is_allowed_and_not_there_is_a_note_since_it_may_be_in_another_file(folder: Path) -> None:
    found = report_of(folder, "fine.py --allow Trough,Through")
    (note,) = found["notes"]  # type: ignore[misc]
    assert (found["exit_code"], "--allow Trough" in note, "Cube, Through" in note) == (0, True, True)


NO_FUNCTION = {"plain.py": "def f(x):\n    return x\n", "empty.py": ""}


def test_a_file_or_folder_without_functions_is_no_failure_and_is_named(tmp_path: Path) -> None:
    for name, text in NO_FUNCTION.items():
        (tmp_path / name).write_text(text)
    for target in (*NO_FUNCTION, "plain.py empty.py", "."):
        found = report_of(tmp_path, target)
        assert (found["exit_code"], found["functions"], found["trouble"]) == (0, [], None)
        assert "no torch.autograd.Function" in found["notes"][0] or "No file in ." in found["notes"][0]  # type: ignore[index]
    (tmp_path / "fine.py").write_text(written({"Cube": CUBE}))
    assert report_of(tmp_path, "plain.py fine.py")["exit_code"] == 0
    assert ran(tmp_path, "plain.py:g --check").returncode == 2


def test_of_a_folder_every_file_is_looked_at_that_defines_a_function_or_cannot_be_read(tmp_path: Path) -> None:
    package = tmp_path / "source" / "package"
    package.mkdir(parents=True)
    for name, text in NO_FUNCTION.items():
        (package / name).write_text(text)
    (package / "__init__.py").write_text("")
    (package / "cubes.py").write_text(written({"Cube": CUBE}))
    (tmp_path / "source" / "more.py").write_text(written({"Other": CUBE}))
    both = {"Cube", "Other"}
    for folder, names in (("source/", both), ("source/package", {"Cube"}), ("source.package", {"Cube"})):
        found = report_of(tmp_path, folder)
        assert {each["name"] for each in found["functions"]} == names  # type: ignore[attr-defined]
        assert found["exit_code"] == 0
    found = report_of(tmp_path, "source/package/__init__.py source/more.py")  # as pre-commit hands them over
    assert (found["exit_code"], "package.cubes does" in found["notes"][0]) == (0, True)  # type: ignore[index]
    (package / "unfinished.py").write_text("class Square(torch.autograd.Function:\n")
    assert report_of(tmp_path, "source")["exit_code"] == 2


def test_every_input_is_swept_and_what_is_not_is_said_and_never_green(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "many.py").write_text(written({"Many": MANY}))
    (found,) = report_of(folder, "many.py")["functions"]  # type: ignore[misc]
    assert (found["ok"], found["unswept"]) == (True, [])
    assert [each["wrt"][0] for each in found["sweeps"]] == list("abcd")
    monkeypatch.setattr("gradloupe.server.report.examine.MAX_OTHER_INPUTS", 1)
    forms = in_every_form(folder, "many.py --check")
    assert {each.returncode for each in forms.values()} == {1}
    assert "not swept  c, d; " in forms["text"].stdout
    (found,) = json.loads(forms["json"].stdout)["functions"]
    assert (found["word"], found["ok"], found["unswept"]) == ("undecided", False, ["c", "d"])
    assert "c, d not" in found["sentence"]
    assert ran(folder, "many.py --check --allow Many").returncode == 0


def test_an_error_of_our_own_is_said_to_be_and_what_to_report(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(op: dict[str, object]) -> Address:
        address = default_address(op)
        return replace(address, question=replace(address.question, wrt=Element("nothing", ())))

    monkeypatch.setattr("gradloupe.server.report.examine.default_address", nowhere)
    (found,) = report_of(folder, "fine.py:Cube")["functions"]  # type: ignore[misc]
    assert (found["word"], found["ok"]) == ("undecided", False)
    assert found["sentence"].startswith("This is an error of Gradloupe")
    assert re.search(r"\([\w/]+\.py, line \d+\)\. .* x: float64\[7\]\.$", found["sentence"])


def test_who_is_told_that_no_call_was_found_is_shown_the_option_to_type_and_it_is_the_call(folder: Path) -> None:
    lock = LOCK.replace("x.shape != (3, 5, 9, 11, 17)", "3 * x.numel() != 3003")
    (folder / "lock.py").write_text(written({"Lock": lock}))
    forms = in_every_form(folder, "lock.py --check --save-html lock.html")
    (found,) = json.loads(forms["json"].stdout)["functions"]
    option: str = found["option"]
    assert {each.returncode for each in forms.values()} == {2}
    for said in ("line `Gradloupe: ...` in its docstring", "example_inputs"):
        assert said in found["faults"][0]["sentence"]
    assert f"\n  {option}\n" in forms["text"].stdout
    assert option in forms["junit"].stdout.replace("&quot;", '"')
    assert option in unescape((folder / "lock.html").read_text())
    flag, recipe = shlex.split(option)
    assert (flag, recipe) == ("--recipe", "Lock: x: float64[7]")
    typed = recipe.replace("7", "7,11,13").replace(" ", "")
    (found,) = report_of(folder, f"lock.py {flag} {typed}")["functions"]  # type: ignore[misc]
    assert (found["word"], found["option"], found["recipe"]) == ("matches", "", "x: float64[7,11,13]")
    assert found["assumed"] == [["x", "--recipe says so"]]


def test_a_recipe_that_does_not_fit_and_one_of_no_function_are_told(folder: Path) -> None:
    found = report_of(folder, "fine.py --recipe Cube:y:float64[2] --recipe Cub:x:float64[2]")
    cube, through = found["functions"]  # type: ignore[misc]
    assert (cube["word"], through["word"]) == ("unsolved", "differs")
    assert cube["sentence"].startswith("--recipe cannot be used. 'y' is not an argument of forward")
    assert [note for note in found["notes"] if "--recipe Cub names no Function" in note]  # type: ignore[attr-defined]


@pytest.mark.parametrize("form", ["text", "json", "junit"])
def test_what_cannot_be_loaded_is_told_in_every_form(folder: Path, form: str) -> None:
    process = ran(folder, f"broken.py --check --format {form}")
    assert process.returncode == 2
    if form == "json":
        trouble = json.loads(process.stdout)["trouble"]
        assert (trouble["kind"], trouble["line"]) == ("SyntaxError", 3)
        assert "broken.py" in trouble["sentence"]
    elif form == "junit":
        errors = ElementTree.fromstring(process.stdout).iter("error")  # noqa: S314 - our own
        assert [error.get("type") for error in errors] == ["SyntaxError"]
    else:
        assert re.search(r"^> +3 +def forward\(:$", process.stdout, re.MULTILINE)


def test_a_file_that_is_not_there_ends_it_before_any_worker_starts(folder: Path) -> None:
    process = ran(folder, "nowhere.py --check --format json --save-html nowhere.html")
    assert process.returncode == 2
    sentence = json.loads(process.stdout)["trouble"]["sentence"]
    assert "nowhere.py" in sentence
    assert process.stderr == f"gradloupe: {sentence}\n"
    assert "nowhere.py" in (folder / "nowhere.html").read_text()


def test_one_file_that_cannot_be_loaded_hides_nothing_of_the_others(folder: Path) -> None:
    forms = in_every_form(folder, "broken.py fine.py --check --save-html some.html")
    assert {each.returncode for each in forms.values()} == {2}
    said = forms["text"].stdout
    assert re.search(r"^> +3 +def forward\(:$", said, re.MULTILINE)
    assert re.search(r"^Cube .* matches ", said, re.MULTILINE)
    assert "1 of 2 targets not loaded." in said
    html = (folder / "some.html").read_text()
    assert "broken.py, line 3" in html
    assert '<h2 id="f1-name">Cube</h2>' in html
    told = json.loads(forms["json"].stdout)
    assert ([each["name"] for each in told["functions"]], told["ok"]) == (["Cube", "Through"], False)
    assert [(each["target"], each["line"]) for each in told["troubles"]] == [("broken.py", 3)]
    assert forms["json"].stderr.startswith("gradloupe: broken.py, line 3, ")
    (run,) = json.loads(forms["sarif"].stdout)["runs"]
    (invocation,) = run["invocations"]
    (notified,) = invocation["toolExecutionNotifications"]
    assert (invocation["executionSuccessful"], notified["level"]) == (False, "error")
    assert notified["locations"][0]["physicalLocation"]["region"]["startLine"] == 3
    root = ElementTree.fromstring(forms["junit"].stdout)  # noqa: S314 - our own
    assert {suite.get("name"): suite.get("errors") for suite in root} == {"fine.py": "0", "broken.py": "1"}


def test_examples_for_what_no_class_is_called_are_told_of(folder: Path) -> None:
    (folder / "named.py").write_text(
        f"{written({'Cube': CUBE})}\nexample_inputs = {{'Cubee': 1, 'Cube': torch.ones(3)}}\n"
    )
    forms = in_every_form(folder, "named.py --check")
    assert {each.returncode for each in forms.values()} == {0}
    (note,) = json.loads(forms["json"].stdout)["notes"]
    assert "'Cubee'" in note
    assert "did you mean" in note
    assert "\n  note  example_inputs" in f"\n{forms['text'].stdout}"


def test_a_page_is_written_without_a_check_and_that_is_no_failure(folder: Path) -> None:
    process = ran(folder, "fine.py --save-html fine.html")
    assert (process.returncode, process.stdout) == (0, "")
    assert process.stderr == "Wrote fine.html: 2 Functions, 1 needs attention.\n"
    assert "Cube" in (folder / "fine.html").read_text()
    assert [each.name for each in folder.iterdir() if each.name.startswith(".fine")] == []


@pytest.mark.parametrize(("place", "culprit"), [("nowhere/report.html", "a folder"), ("kept", "a file")])
def test_a_page_that_cannot_be_written_is_refused_before_anything_is_called(
    folder: Path, place: str, culprit: str
) -> None:
    (folder / "kept").mkdir(exist_ok=True)
    (folder / "loud.py").write_text("open('called', 'w')\n")
    process = ran(folder, f"loud.py --save-html {place}")
    assert process.returncode == 2
    assert process.stderr.startswith("gradloupe: --save-html must be ")
    assert culprit in process.stderr
    assert not (folder / "called").exists()
    assert (folder / "kept").is_dir()


@pytest.mark.parametrize("place", sampled(("import", "call"), ("call",)))
def test_ctrl_c_ends_a_check_wherever_it_is_and_tells_what_was_found_until_then(tmp_path: Path, place: str) -> None:
    os.mkfifo(tmp_path / "begun")
    hang = f"open({str(tmp_path / 'begun')!r}, 'w').close()\nwhile True: pass\n"
    slow = CUBE.replace("        return x**3\n", indent(hang, " " * 8))
    text = written({"Cube": CUBE, "Slow": slow})
    (tmp_path / "slow.py").write_text(text if place == "call" else hang)
    command = [sys.executable, "-m", "gradloupe", "slow.py", "--check"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with on_one_processor(), subprocess.Popen(command, cwd=tmp_path, text=True, **pipes) as process:
        try:
            written_into(tmp_path / "begun")
            process.send_signal(signal.SIGINT)
            said, complaints = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, complaints) == (130, "")
    if place == "import":
        assert said == ""
    else:
        assert re.search(r"^Cube .* matches ", said, re.MULTILINE)
        assert "1 not checked: " in said


SWEEP = SweptSection("x", "y", -3.0, 3.0, "matches", "It is.")
RIGHT = CheckResult("Right", "matches", "It is.", "x: float64[7]", (SWEEP,))
WRONG = replace(RIGHT, word="differs", sweeps=(replace(SWEEP, word="differs", fault=True),))


@pytest.mark.parametrize("form", REPORT_FORMATS)
def test_who_stops_reading_the_report_gets_its_exit_code_and_a_full_disk_is_a_sentence(
    form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for result, code in ((WRONG, 1), (RIGHT, 0)):
        report, chosen = Report(("my.py",), (ExaminedFunction(result),)), Settings(check=True, format=form)
        reading, writing = os.pipe()
        os.close(reading)
        with os.fdopen(writing, "w") as pipe, redirect_stdout(pipe):
            assert write_report(report, chosen) == code
        with open("/dev/full", "w") as full, redirect_stdout(full):
            assert write_report(report, chosen) == 2
    assert re.fullmatch(r"(gradloupe: [^\n]+\.\n){2}", capsys.readouterr().err)
