"""Lines are counted as Python counts them: a form feed ends none, nor what else ``str.splitlines`` takes for an end."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from support.own_worker import SQUARE, worker, written

import gradloupe
from gradloupe.ops import Op
from gradloupe.server.compare.source_diff import folded_docstrings, source_listings
from gradloupe.server.protocol.job import Job
from gradloupe.server.protocol.source_lines import source_lines
from gradloupe.server.protocol.stack_dump import StackFrame
from gradloupe.server.supervisor.crash_report import WorkerLost, inference_crash, startup_crash

NO_ENDS = "\x0c\n\x0c# \x0b \x1c \x1d \x1e \x85 \u2028 \u2029 .\n"
CLASS = f'''class Cube(torch.autograd.Function):
    """The\x0ccube\u2028of x."""

{NO_ENDS}
    @staticmethod
    def forward(ctx, x):
        """The third\x1cpower.

        Of each element.
        """
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x**2 * grad_output
'''
FILE = f"import torch\n{NO_ENDS}{CLASS}"
FIRST = 4
OP = '\nop = Op(Cube, title="Cube", group="Powers", forward="y", backward="g", inputs=(Input("x"),))\n'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which we are and from which modules are imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path.resolve()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_where_python_ends_them(end: str) -> None:
    assert source_lines(FILE.replace("\n", end)) == FILE.split("\n")[:-1]
    assert source_lines(f"a{end}b") == ["a", "b"]
    assert source_lines("") == []


def test_the_source_that_is_shown_begins_and_ends_with_the_class(here: Path) -> None:
    written(here, {"fed": FILE})
    with worker("fed.py") as loaded:
        stub = loaded.hello["catalogue"][0]
        assert (stub["source"], stub["first_line"], stub["line"]) == (CLASS, FIRST, FIRST)


def test_the_source_of_an_op_of_the_gallery_ends_before_its_declaration(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(here, {"fed_op": f"from gradloupe.ops import Input, Op\n{FILE}{OP}"})
    op: Op = importlib.import_module("fed_op").op
    assert (op.source, op.first_line) == (CLASS, FIRST + 1)


def test_a_fault_is_told_with_the_line_of_backward(here: Path) -> None:
    written(here, {"fed_and_wrong": FILE})
    found = gradloupe.check(importlib.import_module("fed_and_wrong").Cube)
    assert found.word == "differs"
    lines = FILE.split("\n")
    assert lines[found.faults[0].line - 1] == "    def backward(ctx, grad_output):"


def test_the_excerpt_of_a_file_that_raises_has_the_line_that_raised(here: Path) -> None:
    written(here, {"fed": f"{FILE}raise ValueError('\x0c')\n"})
    with worker("fed.py") as loaded:
        told = loaded.trouble
    assert [told["line"], "raise ValueError('\x0c')"] in told["excerpt"]


def test_the_excerpt_of_a_file_that_ends_its_worker_has_the_line_that_was_running(here: Path) -> None:
    written(here, {"fed": f"{FILE}exit()\n"})
    line = FILE.count("\n") + 1
    lost = WorkerLost("exit code 1", calls=[StackFrame(str(here / "fed.py"), line, "<module>")])
    assert (line, "exit()") in startup_crash(lost, Job(targets=("fed.py",)))["trouble"]["excerpt"]


def test_the_excerpt_of_a_function_that_ends_its_worker_has_the_line_that_was_running() -> None:
    stub = {"source": CLASS, "first_line": FIRST, "file": "fed.py", "title": "Cube"}
    line = FILE.count("\n")
    lost = WorkerLost("exit code 1", calls=[StackFrame("/fed.py", line, "backward")])
    excerpt = inference_crash(lost, stub, "")["trouble"]["excerpt"]
    assert excerpt[-1] == (line, "        return 2 * x**2 * grad_output")


def test_sources_are_compared_line_by_line() -> None:
    for listing in source_listings(CLASS, SQUARE.partition("\n\n\n")[2]):
        assert str(listing).count("\n") == str(listing).count('<span class="line') + str(listing).count('"absent"')
    folded = folded_docstrings(CLASS)
    shown = CLASS.count("\n") - sum(len(each.rest) for each in folded.values())
    assert str(source_listings(CLASS, CLASS)[0]).count('<span class="line') == shown
    assert [each.first.strip() for each in folded.values()] == [
        '"""The\x0ccube\u2028of x."""',
        '"""The third\x1cpower. …"""',
    ]
