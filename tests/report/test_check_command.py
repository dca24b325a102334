"""The report on a file of Functions, as it is asked for in a terminal, by a CI server and as a page."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect
from support import event_loop
from support.browser import POLICY, resized
from support.busy_cpu import on_one_processor
from support.command_line import NO_HURRY, OF_THE_TERMINAL, Ran, in_every_form, ran
from support.faulty_source import FAULTY
from support.own_worker import LAST
from support.waiting import written_into

from gradloupe.server.config import REPORT_FORMATS, Settings
from gradloupe.server.protocol import load_error
from gradloupe.server.protocol.job import Job
from gradloupe.server.protocol.question import Element
from gradloupe.server.report import terminal as text
from gradloupe.server.report.command import write_report
from gradloupe.server.report.examine import examine_function
from gradloupe.server.report.findings import SweptSection, WorstPoint, XrayFinding
from gradloupe.server.report.html_page import html_report
from gradloupe.server.report.json_report import json_report
from gradloupe.server.report.junit import junit_report
from gradloupe.server.report.result import CheckResult, ExaminedFunction, Report
from gradloupe.server.supervisor.engine import Engine
from gradloupe.server.url import Address, default_address

GOOD = '''
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
STRAIGHT = '''
class Through(torch.autograd.Function):
    """Rounds, and lets the gradient through."""

    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output
'''
HERE = '''
class Here(torch.autograd.Function):
    """A parabola whose gradient is cut off out of sight."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * x * weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        return 2 * grad_output * x.clamp(-500, 500) * weight, grad_output * x * x


class Kept(torch.autograd.Function):
    """The exponential function, kept where autograd does not see it."""

    @staticmethod
    def forward(ctx, x):
        ctx.exp = x.exp()
        return ctx.exp.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.exp


class Lock(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, key):
        if key * 7 != 35_539:
            raise LookupError("it does not fit")
        return x * 1

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None
'''
OPEN = '''
class Late(torch.autograd.Function):
    """A sine whose frequency is read again when backward is called."""

    frequency = 2.0

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(Late.frequency * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * Late.frequency * torch.cos(Late.frequency * x)


class Chance(torch.autograd.Function):
    """Noise that is added to what it is given."""

    @staticmethod
    def forward(ctx, x):
        return x + torch.randn_like(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output
'''
WHOLE = f'''
{LAST}

class Many(torch.autograd.Function):
    """The sum of many tensors, right by every one of them."""

    @staticmethod
    def forward(ctx, a, b, c, d, e, f, g, h, i, j):
        return a + b + c + d + e + f + g + h + i + j

    @staticmethod
    def backward(ctx, grad_output):
        return (grad_output,) * 10
'''
SCALED = '''
class Scaled(torch.autograd.Function):
    """Backward forgets the scale, which is not seen where the scale is 1."""

    @staticmethod
    def forward(ctx, x, scale=0.5):
        ctx.save_for_backward(x)
        return (scale * x * x).mean()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 2 * x / x.numel(), None
'''
LUCK = '''
class Luck(torch.autograd.Function):
    """Chance that no seed repeats."""

    turns = itertools.count()

    @staticmethod
    def forward(ctx, x):
        return x + (0.618 * next(Luck.turns)) % 1

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output
'''
CRASHES = '''
class Crashes(torch.autograd.Function):
    """A sum that crashes for a b near 2.96."""

    @staticmethod
    def forward(ctx, a, b, c):
        if ((b > 2.94) & (b < 2.98)).any():
            os.kill(os.getpid(), 11)
        return a + b + c

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, grad_output, grad_output
'''
NEARLY = '''
class Nearly(torch.autograd.Function):
    """The exponential function, with a gradient that is right to ten digits."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x.exp() * 1.0000000001
'''
PICKY = '''
class Picky(torch.autograd.Function):
    """A scale that has to be given: its default is refused."""

    @staticmethod
    def forward(ctx, x, scale=-1.0):
        if scale < 0:
            raise ValueError("scale must be given")
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * ctx.scale * x * grad_output, None
'''
TWICE = '''
class Twice(torch.autograd.Function):
    """A cube whose second derivative is stated, and is half of what is right."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        class Slope(torch.autograd.Function):
            @staticmethod
            def forward(ctx, grad_output, x):
                ctx.save_for_backward(grad_output, x)
                return grad_output * 3 * x**2

            @staticmethod
            def backward(ctx, grad_grad_x):
                grad_output, x = ctx.saved_tensors
                return grad_grad_x * 3 * x**2, grad_grad_x * grad_output * 3 * x

        (x,) = ctx.saved_tensors
        return Slope.apply(grad_output, x)
'''
NAMES = ["Cube", "Through", "Product", "Crash", "Riddle"]
BOXES = re.compile("[\u2500-\u257f\x1b]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of Functions good and bad, one of good ones, and one that cannot be read."""
    folder = tmp_path_factory.mktemp("visitor")
    (folder / "my_ops.py").write_text(
        f"import os\nfrom typing import final\n\nimport torch\n\n{GOOD}\n@final{STRAIGHT}\n{FAULTY}"
    )
    (folder / "fine.py").write_text(f"import torch\n\n{GOOD}\n{STRAIGHT}")
    (folder / "here.py").write_text(f"import torch\n\n{HERE}")
    (folder / "open.py").write_text(f"import torch\n\n{OPEN}")
    (folder / "scaled.py").write_text(f"import torch\n\n{SCALED}")
    (folder / "luck.py").write_text(f"import itertools\n\nimport torch\n\n{LUCK}")
    (folder / "crash.py").write_text(f"import os\n\nimport torch\n\n{CRASHES}")
    (folder / "nearly.py").write_text(f"import torch\n\n{NEARLY}")
    (folder / "picky.py").write_text(f"import torch\n\n{PICKY}")
    (folder / "twice.py").write_text(f"import torch\n\n{TWICE}")
    (folder / "whole.py").write_text(f"import torch\n\n{WHOLE}")
    (folder / "broken.py").write_text("import torch\n\ndef forward(:\n    pass\n")
    return folder


def in_a_process(folder: Path, line: str) -> Ran:
    """The same in a process of its own, through real pipes."""
    command = [sys.executable, "-m", "gradloupe", *line.split(), *NO_HURRY]
    clean = {name: value for name, value in os.environ.items() if name not in OF_THE_TERMINAL}
    ended = subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, timeout=300, check=False)
    return Ran(ended.returncode, ended.stdout, ended.stderr)


def parsed(report: str | bytes) -> ElementTree.Element:
    return ElementTree.fromstring(report)  # noqa: S314 - our own


@pytest.fixture(scope="module")
def said(folder: Path) -> Ran:
    """The report of the bad file through a pipe, its page written too."""
    return in_a_process(folder, "my_ops.py --check --save-html report.html")


@pytest.fixture(scope="module")
def forms(folder: Path) -> dict[str, Ran]:
    """The same in every form."""
    return in_every_form(folder, "my_ops.py --check")


@pytest.fixture(scope="module")
def told(forms: dict[str, Ran]) -> dict[str, Any]:
    """The same as JSON."""
    assert (forms["json"].returncode, forms["json"].stderr) == (1, "")
    report: dict[str, Any] = json.loads(forms["json"].stdout)
    return report


def test_the_table_has_a_line_for_every_function(said: Ran) -> None:
    assert said.returncode == 1
    rows = said.stdout.split("\n\n")[0].splitlines()
    assert [row.split()[0] for row in rows] == ["Function", *NAMES]
    words = dict(zip(NAMES, ("matches", "differs", "differs", "lost", "unsolved"), strict=True))
    for row in rows[1:]:
        assert f" {words[row.split()[0]]}" in row
    assert "x: float64[7]; factor: float64[7]" in rows[3]
    assert "GRADIENT" in rows[3]
    assert "float64" not in rows[5]  # no call was found


def test_below_the_table_stands_what_is_wrong_and_where(said: Ran) -> None:
    below = said.stdout.split("\n\n", 1)[1]
    assert "\nCube" not in below
    assert re.search(r"^Product\n  gradient  backward does not return the derivative", below, re.MULTILINE)
    assert re.search(r"^  my_ops.py:\d+$", below, re.MULTILINE)
    assert "SIGSEGV" in below
    assert "'riddle'" in below
    assert "pass --allow NAME" in below
    assert "5 Functions: " in below
    assert "4 need attention." in below


def test_a_difference_is_told_once_in_the_terminal_and_every_badge_is_explained(folder: Path) -> None:
    below = ran(folder, "my_ops.py:Product --check").stdout.split("\n\n", 1)[1]
    assert below.count("\n  gradient  ") == 1
    assert "\n  GRADIENT  " not in below
    report = ran(folder, "open.py --check").stdout
    table, below = report.split("\n\n", 1)
    assert "LATE-READ" in table
    assert re.search(r"^Late\n  LATE-READ  ", below, re.MULTILINE)
    assert re.search(r"^Chance .* matches ", table, re.MULTILINE)
    assert "All is well." in below


def test_what_is_undecided_fails_and_may_be_allowed_to(folder: Path) -> None:
    process = ran(folder, "luck.py --check")
    assert process.returncode == 1
    assert re.search(r"^Luck\n  gradient  forward is random", process.stdout, re.MULTILINE)
    assert "undecided 1. 1 needs attention." in process.stdout
    assert ran(folder, "luck.py --check --allow Luck").returncode == 0


def test_a_function_that_is_wrong_at_its_declared_default_is_found(folder: Path) -> None:
    process = ran(folder, "scaled.py --check")
    assert process.returncode == 1
    assert re.search(r"^Scaled +x: float64\[7\]; scale = 0\.5 +differs ", process.stdout, re.MULTILINE)
    assert "a factor scale is missing" in " ".join(process.stdout.split())


def test_through_a_pipe_there_are_no_colours_no_boxes_and_no_bar(said: Ran) -> None:
    assert not BOXES.search(said.stdout)
    assert [line for line in said.stdout.splitlines() if line != line.rstrip()] == []
    assert said.stderr == "Wrote report.html: 5 Functions, 4 need attention.\n"


def test_a_gradient_that_is_wrong_out_of_the_sweeps_decides_the_word_everywhere(folder: Path) -> None:
    forms = in_every_form(folder, "whole.py:Last --check --save-html last.html")
    assert {each.returncode for each in forms.values()} == {1}
    table, below = forms["text"].stdout.split("\n\n", 1)
    assert re.search(r"^Last .* differs +weight\[6\], by the X-ray +GRADIENT$", table, re.MULTILINE)
    assert re.search(
        r"^Last\n  gradient  backward differs from the derivative of forward in weight: for weight", below, re.MULTILINE
    )
    assert "\n  GRADIENT  " not in below
    assert "differs 1. 1 needs attention." in below
    assert "Last:GRADIENT" not in below
    assert "derivative of <code>forward</code> in weight: for" in (folder / "last.html").read_text()
    (found,) = json.loads(forms["json"].stdout)["functions"]
    assert (found["word"], [each["word"] for each in found["sweeps"]]) == ("differs", ["matches", "matches"])
    assert [each["id"] for each in found["faults"]] == ["gradient", "GRADIENT"]
    cases = parsed(forms["junit"].stdout).iter("testcase")
    failed = [case.get("name") for case in cases if case.find("failure") is not None]
    assert failed == ["Last.gradient", "Last.GRADIENT"]


@pytest.mark.parametrize("allowed", ["Last", "Last:GRADIENT"])
def test_who_allows_that_gradient_allows_the_word(folder: Path, allowed: str) -> None:
    process = ran(folder, f"whole.py:Last --check --allow {allowed}")
    assert (process.returncode, "differs, allowed" in process.stdout) == (0, True)


def test_every_input_is_swept_whatever_the_clock_says(folder: Path) -> None:
    (found,) = json.loads(ran(folder, "whole.py:Many --check --format json").stdout)["functions"]
    assert (found["ok"], found["unswept"]) == (True, [])
    assert [each["wrt"][0] for each in found["sweeps"]] == list("abcdefghij")


def test_what_is_not_swept_is_said_and_never_green(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[examine_function.__module__], "MAX_OTHER_INPUTS", 7)
    forms = in_every_form(folder, "whole.py:Many --check")
    assert {each.returncode for each in forms.values()} == {1}
    assert "not swept  i, j; the X-ray looked at them." in forms["text"].stdout
    (found,) = json.loads(forms["json"].stdout)["functions"]
    assert (found["word"], found["ok"], found["unswept"]) == ("undecided", False, ["i", "j"])
    assert found["sentence"].startswith("Not every input was swept: i, j not. Of those that were: backward returns")
    assert ran(folder, "whole.py:Many --check --allow Many").returncode == 0


def test_what_crashes_by_one_input_leaves_the_others_unswept_and_is_no_match(folder: Path) -> None:
    (found,) = json.loads(ran(folder, "crash.py --check --format json").stdout)["functions"]
    assert (found["word"], found["ok"], found["unswept"]) == ("lost", False, ["c"])


def test_where_nothing_can_be_judged_the_exit_code_is_2(folder: Path) -> None:
    assert ran(folder, "my_ops.py:Riddle --check").returncode == 2
    assert ran(folder, "my_ops.py:Crash --check").returncode == 2
    assert ran(folder, "crash.py --check").returncode == 1
    assert "2: nothing could be judged" in " ".join(ran(folder, "--help").stdout.split())


def test_warnings_and_remarks_fail_only_who_is_strict(folder: Path) -> None:
    assert ran(folder, "here.py:Kept --check").returncode == 0
    process = ran(folder, "here.py:Kept --check --strict")
    assert (process.returncode, process.stdout.count("\n  SECOND-ORDER  ")) == (1, 1)
    assert "Differentiate twice, and for x you get 0 instead of" in " ".join(process.stdout.split())
    assert ran(folder, "here.py:Kept --check --strict --allow Kept:SECOND-ORDER,Kept:CTX-TENSOR").returncode == 0
    assert ran(folder, "here.py:Here --check --strict").returncode == 1


def test_a_difference_below_a_billionth_of_the_slope_is_a_remark_in_every_form(folder: Path) -> None:
    forms = in_every_form(folder, "nearly.py --check")
    assert {each.returncode for each in forms.values()} == {0}
    assert re.search(r"^Nearly .* matches, with a remark ", forms["text"].stdout, re.MULTILINE)
    assert "It matches up to 2·10⁻⁹, 10⁻¹⁰ of the slope there, at x = " in " ".join(forms["text"].stdout.split())
    (found,) = json.loads(forms["json"].stdout)["functions"]
    assert (found["ok"], found["word"]) == (True, "matches")
    assert found["sweeps"][0]["remark"]["share"] == pytest.approx(1e-10, rel=0.1)
    assert [each["id"] for each in found["warnings"]] == ["remark"]
    assert "remark: y by x: backward returns" in forms["junit"].stdout
    strict = in_every_form(folder, "nearly.py --check --strict")
    assert {each.returncode for each in strict.values()} == {1}
    failed = [
        each.get("name") for each in parsed(strict["junit"].stdout).iter("testcase") if each.find("failure") is not None
    ]
    assert failed == ["Nearly.remark"]
    assert ran(folder, "nearly.py --check --strict --allow Nearly:remark").returncode == 0


def test_a_difference_says_how_large_it_is_by_the_slope_at_its_place(told: dict[str, Any]) -> None:
    product = next(each for each in told["functions"] if each["name"] == "Product")
    assert product["worst"]["share"] == pytest.approx(1.0)
    assert product["worst"]["off"] == pytest.approx(abs(product["worst"]["numerical"]))
    assert "100 % of the slope there" in product["faults"][0]["sentence"]
    seen = next(each["seen"] for each in product["findings"] if each["id"] == "GRADIENT")
    assert seen.endswith("100 % of the slope there.")


def test_a_default_that_no_call_was_found_with_is_a_warning(folder: Path) -> None:
    forms = in_every_form(folder, "picky.py --check")
    assert {each.returncode for each in forms.values()} == {0}
    table, below = forms["text"].stdout.split("\n\n", 1)
    assert re.search(r"^Picky .* matches, scale not at its default ", table, re.MULTILINE)
    said = "no call was found with the declared default of scale, −1."
    assert f"{said}\n" in " ".join(below.split(" ")).replace("\n  ", " ") or said in " ".join(below.split())
    (found,) = json.loads(forms["json"].stdout)["functions"]
    assert found["left"][0][0] == "scale"
    assert found["sentence"].endswith("no call was found with the declared default of scale, -1.")
    assert [each["id"] for each in found["warnings"]] == ["default"]
    assert ran(folder, "picky.py --check --strict").returncode == 1


def test_an_error_of_our_own_is_said_to_be_and_what_to_report(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)

    def nowhere(op: dict[str, Any]) -> Address:
        address = default_address(op)
        return replace(address, question=replace(address.question, wrt=Element("nothing", ())))

    async def examined() -> ExaminedFunction:
        engine = Engine.spawn(Job(targets=("fine.py",)))
        await engine.connect()
        try:
            return await examine_function(engine, "Cube", chosen=nowhere)
        finally:
            await engine.close()

    result = event_loop.run(examined()).checked
    assert (result.word, result.ok) == ("undecided", False)
    assert result.sentence.startswith("This is an error of Gradloupe itself, and says nothing about the Function: ")
    assert result.sentence.endswith("Please report it, with the Function and how it is called, x: float64[7].")


def test_the_document_says_everything_of_every_function(folder: Path, told: dict[str, Any]) -> None:
    assert (told["schema"], told["ok"], told["exit_code"], told["trouble"]) == (1, False, 1, None)
    assert told["targets"] == ["my_ops.py"]
    assert told["versions"].keys() == {"gradloupe", "python", "torch"}
    found = {each["name"]: each for each in told["functions"]}
    assert list(found) == NAMES
    assert [name for name, each in found.items() if each["ok"]] == ["Cube"]
    product = found["Product"]
    assert (product["word"], product["recipe"]) == ("differs", "x: float64[7]; factor: float64[7]")
    assert sorted(each["word"] for each in product["sweeps"]) == ["differs", "matches"]
    assert product["worst"]["analytical"] == pytest.approx(2 * product["worst"]["numerical"])
    assert {each["id"] for each in product["faults"]} == {"gradient", "GRADIENT"}
    lines = (folder / "my_ops.py").read_text().splitlines()
    for fault in product["faults"]:
        assert fault["file"] == "my_ops.py"
        assert "def backward" in lines[fault["line"] - 1] or "2 * grad_output" in lines[fault["line"] - 1]
    assert found["Crash"]["word"] == "lost"
    assert found["Riddle"]["tried"]


def test_junit_has_a_case_for_the_gradient_and_for_each_check(forms: dict[str, Ran], folder: Path) -> None:
    assert forms["junit"].returncode == 1
    root = parsed(forms["junit"].stdout)
    (suite,) = root
    assert suite.get("name") == "my_ops.py"
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert int(suite.get("tests", 0)) == len(cases) == int(root.get("tests", 0))
    assert {f"{name}.gradient" for name in NAMES} <= cases.keys()
    failed = {name for name, case in cases.items() if case.find("failure") is not None}
    assert failed == {*(f"{name}.gradient" for name in NAMES[1:]), "Product.GRADIENT", "Through.GRADIENT"}
    failure = cases["Product.gradient"].find("failure")
    assert failure is not None
    assert re.search(r"my_ops.py:\d+", failure.text or "")
    defined = (folder / "my_ops.py").read_text().splitlines()[int(cases["Through.gradient"].get("line", 0)) - 1]
    assert defined == "class Through(torch.autograd.Function):"
    assert cases["Cube.NO-BACKWARD"].find("failure") is None
    assert {each.get("name") for each in suite.iter("property")} == {"gradloupe", "python", "torch", "device"}


def test_what_is_allowed_to_differ_does_not_fail_the_run(folder: Path) -> None:
    process = ran(folder, "fine.py --check --allow Through")
    assert process.returncode == 0
    assert "differs, allowed" in process.stdout
    assert "All is well." in process.stdout


def test_a_name_that_is_allowed_must_be_that_of_a_function(folder: Path) -> None:
    process = ran(folder, "fine.py --check --allow Trough")
    assert (process.returncode, process.stdout) == (2, "")
    assert process.stderr == "gradloupe: --allow Trough names no Function that was found; there are Cube, Through.\n"


def test_where_it_differs_out_of_sight_is_told_though_that_is_no_fault(folder: Path) -> None:
    forms = in_every_form(folder, "here.py:Here --check --save-html here.html")
    assert {each.returncode for each in forms.values()} == {0}
    assert re.search(r"^Here\n  matches here  Outside this range backward differs", forms["text"].stdout, re.MULTILINE)
    page = (folder / "here.html").read_text()
    assert page.count("Outside this range <code>backward</code> differs") == 1
    root = parsed(forms["junit"].stdout)
    said = next(case.findtext("system-out", "") for case in root.iter("testcase"))
    assert said.count("Outside this range backward differs") == 1
    (found,) = json.loads(forms["json"].stdout)["functions"]
    assert found["ok"]
    assert found["sweeps"][0]["beyond"].startswith("Outside this range backward differs")


def test_one_check_of_one_function_is_forgiven(folder: Path) -> None:
    process = ran(folder, "twice.py --check")
    assert process.returncode == 1
    assert "--allow\nTwice:SECOND-ORDER." in process.stdout
    process = ran(folder, "twice.py --check --allow Twice:SECOND-ORDER")
    assert process.returncode == 0
    assert "SECOND-ORDER, allowed" in process.stdout
    process = ran(folder, "my_ops.py:Product --check --allow Product:GRADIENT --format json")
    assert process.returncode == 1
    assert [each["id"] for each in json.loads(process.stdout)["functions"][0]["faults"]] == ["gradient"]
    process = ran(folder, "here.py:Kept --check --allow Kept:SECOND-ODER")
    assert (process.returncode, process.stdout) == (2, "")
    assert "--allow Kept:SECOND-ODER names no check of Kept; there are gradient, " in process.stderr
    process = ran(folder, "--help")
    assert "Name:" not in process.stderr
    assert "NAME:CHECK" in process.stdout


def test_who_is_told_that_no_call_was_found_can_write_one_into_the_file(folder: Path) -> None:
    process = ran(folder, "here.py:Lock --check --format junit")
    message = next(each.get("message", "") for each in parsed(process.stdout).iter("failure"))
    assert "called with `x: float64[7]; key = " in message
    assert "; say how it is called instead. " in message
    assert "Write that as a line `Gradloupe: ...` into its docstring" in message
    assert "example_inputs" in message
    assert "field" not in message


def test_a_page_is_written_without_a_check_and_that_is_no_failure(folder: Path) -> None:
    process = ran(folder, "fine.py --save-html fine.html")
    assert (process.returncode, process.stdout) == (0, "")
    assert process.stderr == "Wrote fine.html: 2 Functions, 1 needs attention.\n"
    assert "Cube" in (folder / "fine.html").read_text()
    assert [each.name for each in folder.iterdir() if each.name.startswith(".fine")] == []


@pytest.mark.parametrize("form", ["text", "json", "junit"])
def test_what_cannot_be_loaded_is_told_in_every_form(folder: Path, form: str) -> None:
    process = ran(folder, f"broken.py --check --format {form}")
    assert process.returncode == 2
    if form == "json":
        trouble = json.loads(process.stdout)["trouble"]
        assert (trouble["kind"], trouble["line"]) == ("SyntaxError", 3)
        assert "broken.py" in trouble["sentence"]
    elif form == "junit":
        errors = [case.find("error") for case in parsed(process.stdout).iter("testcase")]
        assert [error.get("type") for error in errors if error is not None] == ["SyntaxError"]
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
    process = ran(folder, "fine.py broken.py --check --save-html some.html")
    assert process.returncode == 2
    assert re.search(r"^> +3 +def forward\(:$", process.stdout, re.MULTILINE)
    assert re.search(r"^Cube .* matches ", process.stdout, re.MULTILINE)
    assert "2 Functions: matches 1, differs 1. 1 needs attention. 1 of 2 targets not loaded." in process.stdout
    html = (folder / "some.html").read_text()
    assert "broken.py, line 3" in html
    assert '<h2 id="f1-name">Cube</h2>' in html
    forms = in_every_form(folder, "broken.py fine.py --check")
    told = json.loads(forms["json"].stdout)
    assert ([each["name"] for each in told["functions"]], told["ok"]) == (["Cube", "Through"], False)
    assert [(each["target"], each["line"]) for each in told["troubles"]] == [("broken.py", 3)]
    assert forms["json"].stderr.startswith("gradloupe: broken.py, line 3, ")
    root = parsed(forms["junit"].stdout)
    assert {suite.get("name"): suite.get("errors") for suite in root} == {"fine.py": "0", "broken.py": "1"}


def test_examples_for_what_no_class_is_called_are_told_of(folder: Path) -> None:
    (folder / "named.py").write_text(f"import torch\n{GOOD}\nexample_inputs = {{'Cubee': 1, 'Cube': torch.ones(3)}}\n")
    forms = in_every_form(folder, "named.py --check")
    assert {each.returncode for each in forms.values()} == {0}
    told = " ".join(forms["text"].stdout.split())
    assert "note example_inputs says how to call 'Cubee', and nothing in the file has that name; did you mean" in told
    (note,) = json.loads(forms["json"].stdout)["notes"]
    assert "'Cubee'" in note


def test_a_page_that_cannot_be_written_is_refused_before_anything_is_called(folder: Path) -> None:
    (folder / "loud.py").write_text("open('called', 'w')\n")
    process = ran(folder, "loud.py --save-html nowhere/report.html")
    assert process.returncode == 2
    assert process.stderr.startswith("gradloupe: --save-html must be in a folder that is there")
    assert not (folder / "called").exists()


def test_a_page_is_not_written_over_a_folder(folder: Path) -> None:
    (folder / "kept").mkdir()
    process = ran(folder, "fine.py --save-html kept")
    assert process.returncode == 2
    assert process.stderr.startswith("gradloupe: --save-html must be the name of a file")
    assert (folder / "kept").is_dir()


@pytest.mark.parametrize("place", ["import", "call"])
def test_ctrl_c_ends_a_check_wherever_it_is(tmp_path: Path, place: str) -> None:
    os.mkfifo(tmp_path / "begun")
    hang = [f"open({str(tmp_path / 'begun')!r}, 'w').close()", "while True: pass"]
    inside = "\n".join(f"        {line}" for line in hang)
    code = GOOD.replace("        return x**3", inside) if place == "call" else "\n".join(hang)
    (tmp_path / "slow.py").write_text(f"import torch\n{code}\n")
    command = [sys.executable, "-m", "gradloupe", "slow.py", "--check"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            written_into(tmp_path / "begun")
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=60) == ("", "")
        finally:
            process.kill()
    assert process.returncode == 130


def test_what_was_found_until_ctrl_c_is_told(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "begun")
    hang = f"        open({str(tmp_path / 'begun')!r}, 'w').close()\n        while True: pass"
    slow = GOOD.replace("Cube", "Slow").replace("        return x**3", hang)
    (tmp_path / "two.py").write_text(f"import torch\n{GOOD}\n{slow}\n")
    command = [sys.executable, "-m", "gradloupe", "two.py", "--check"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with on_one_processor(), subprocess.Popen(command, cwd=tmp_path, text=True, **pipes) as process:
        try:
            written_into(tmp_path / "begun")
            process.send_signal(signal.SIGINT)
            said, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert re.search(r"^Cube .* matches ", said, re.MULTILINE)
    assert "1 Function: matches 1. 1 not checked: it was interrupted." in said


SWEPT = SweptSection(
    "x", "y", -3.0, 3.0, "differs", "backward is wrong.", worst=WorstPoint(1.0, 2.0, 3.0, 0.0), line=12, fault=True
)
FINDING = XrayFinding("GRADIENT", "What backward returns", "error", "The gradient", "It is 2, not 3.", line=12)
WRONG = CheckResult(
    "Wrong[red]", "differs", "backward is wrong.", "x: float64[7]", (SWEPT,), (FINDING,), file="my.py", line=3
)


def on_a_terminal(report: Report) -> str:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as stream:
        text.print_report(report, text.console(stream))
    read = bytearray()
    with os.fdopen(ours, "rb") as terminal, suppress(OSError):  # which is how the end of a terminal is told
        while some := terminal.read1(65536):
            read += some
    return read.decode()


def test_a_terminal_is_written_to_in_colours_unless_none_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    report = Report(("my.py",), (ExaminedFunction(WRONG),), torch="2")
    assert "\x1b[31mdiffers" in on_a_terminal(report)
    assert "Wrong[red]" in on_a_terminal(report)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[31m" not in on_a_terminal(report)


def test_the_width_of_a_pipe_is_that_of_columns_and_never_less_than_a_hundred(monkeypatch: pytest.MonkeyPatch) -> None:
    long = replace(WRONG, sweeps=(replace(SWEPT, sentence="word " * 60),))
    for given, wide in (("40", 100), ("140", 140)):
        monkeypatch.setenv("COLUMNS", given)
        stream = io.StringIO()
        text.print_report(Report(("my.py",), (ExaminedFunction(long),)), text.console(stream))
        assert wide - 10 < max(map(len, stream.getvalue().splitlines())) <= wide


@pytest.mark.parametrize("form", REPORT_FORMATS)
def test_who_stops_reading_the_report_gets_its_exit_code_and_a_full_disk_is_a_sentence(
    form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    right = replace(WRONG, word="matches", sweeps=(replace(SWEPT, word="matches", fault=False),), findings=())
    for result, code in ((WRONG, 1), (right, 0)):
        report, chosen = Report(("my.py",), (ExaminedFunction(result),)), Settings(check=True, format=form)
        reading, writing = os.pipe()
        os.close(reading)
        with os.fdopen(writing, "w") as pipe, redirect_stdout(pipe):
            assert write_report(report, chosen) == code
        with open("/dev/full", "w") as full, redirect_stdout(full):
            assert write_report(report, chosen) == 2
    assert re.fullmatch(r"(gradloupe: [^\n]+\.\n){2}", capsys.readouterr().err)


def test_what_xml_has_no_place_for_is_replaced() -> None:
    found = ExaminedFunction(replace(WRONG, sentence="a\x00b", name="<&>"))
    trouble = load_error.load_error("no \x1b here", "E")
    for report in (Report(("a",), (found,)), Report(("a",), (), (trouble,))):
        assert parsed(junit_report(report)).get("name") == "gradloupe"
        assert json.loads(json_report(report))["schema"] == 1


@pytest.fixture(scope="module")
def opened(browser: Browser, folder: Path, said: Ran) -> Iterator[Page]:
    """The page of the bad file, from a disk; it may ask for nothing, and nothing may go wrong."""
    context = browser.new_context(offline=True, color_scheme="dark", java_script_enabled=True)
    context.add_init_script(POLICY)
    page, complaints, asked = context.new_page(), list[str](), list[str]()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((folder / "report.html").as_uri())
    yield page
    assert complaints == []
    assert {url.partition(",")[0] for url in asked[1:]} <= {"data:image/svg+xml;base64"}
    context.close()


def test_the_page_shows_every_function_with_its_word_its_picture_and_its_source(opened: Page) -> None:
    assert opened.locator("script").count() == 0
    expect(opened.locator(".contents li a")).to_have_text(NAMES)
    first = opened.locator(".contents li").nth(2)
    expect(first).to_contain_text("differs")
    first.get_by_role("link").click()
    product = opened.locator("article.function").nth(2)
    expect(product).to_be_in_viewport()
    expect(product.locator(".verdict")).to_contain_text("does not return the derivative")
    expect(product.locator("img")).to_have_js_property("complete", True)
    expect(product.locator("img")).to_have_js_property("naturalWidth", 920)
    expect(product.locator(".source .failed").first).to_be_attached()
    expect(opened.locator("article.function img")).to_have_count(3)


def test_the_page_fits_a_telephone_and_every_reader(opened: Page) -> None:
    for scheme in ("light", "dark"):
        opened.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        found = Axe().run(opened).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []
    resized(opened, 360, 640)
    assert opened.evaluate("document.documentElement.scrollWidth") == 360
    opened.set_viewport_size({"width": 1280, "height": 860})


def test_the_page_escapes_what_a_visitor_writes() -> None:
    evil = "<script>alert(1)</script>"
    found = ExaminedFunction(
        replace(WRONG, name=evil, sentence=evil, recipe=evil), {"source": evil, "doc": evil, "first_line": 1}
    )
    assert b"<script" not in html_report(Report((evil,), (found,), torch="2", device="cpu"))
