import importlib
from pathlib import Path

import pytest
from support.command_line import ran
from support.own_worker import worker, written

import gradloupe
from gradloupe.ops import Op

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
def test_the_source_that_is_shown_begins_and_ends_with_the_class(here: Path, end: str) -> None:
    (here / "fed.py").write_bytes(FILE.replace("\n", end).encode())
    with worker("fed.py") as loaded:
        stub = loaded.hello["catalogue"][0]
        assert (stub["source"], stub["first_line"], stub["line"]) == (CLASS, FIRST, FIRST)


def test_the_source_of_an_op_of_the_gallery_ends_before_its_declaration(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(here, {"fed_op": f"from gradloupe.ops import Input, Op\n{FILE}{OP}"})
    op: Op = importlib.import_module("fed_op").op
    assert (op.source, op.first_line) == (CLASS, FIRST + 1)


def test_a_fault_is_told_with_the_line_that_returns_it(here: Path) -> None:
    written(here, {"fed_and_wrong": FILE})
    found = gradloupe.check(importlib.import_module("fed_and_wrong").Cube)
    assert found.word == "differs"
    lines = FILE.split("\n")
    assert lines[found.faults[0].line - 1] == "        return 2 * x**2 * grad_output"


def test_the_excerpt_of_a_file_that_raises_has_the_line_that_raised(here: Path) -> None:
    written(here, {"fed": f"{FILE}raise ValueError('\x0c')\n"})
    with worker("fed.py") as loaded:
        told = loaded.trouble
    assert [told["line"], "raise ValueError('\x0c')"] in told["excerpt"]


def test_the_last_line_of_a_function_that_ends_its_worker_is_the_one_that_was_running(here: Path) -> None:
    text = FILE.replace("return 2 * x**2", "ctypes.string_at(0); return 2 * x**2").replace(
        "import", "import ctypes,", 1
    )
    written(here, {"größe": text})
    line = text.split("\n").index("        ctypes.string_at(0); return 2 * x**2 * grad_output") + 1
    said = " ".join(ran(here, "größe.py --check").stdout.split())
    assert f"last line: größe.py, line {line}, in backward: `ctypes.string_at(0);" in said
