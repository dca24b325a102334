"""What a check says of the numbers and the calls that lie just beside the ones that were looked at."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.command_line import in_every_form, ran

import gradloupe

FILE = '''
import torch
from torch.autograd import Function


class Row(Function):
    """A product, whose backward knows one number alone in the place of s."""

    @staticmethod
    def forward(ctx, x, s):
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, g):
        x, s = ctx.saved_tensors
        return g * s, (g * x).sum().reshape(1)


class Column(Function):
    """The same, for as many as there are."""

    @staticmethod
    def forward(ctx, x, s):
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, g):
        x, s = ctx.saved_tensors
        return (g * s).sum_to_size(x.shape), (g * x).sum_to_size(s.shape)


class Ramp(Function):
    """Beyond 5, where 25 is the slope for ever, backward still rises."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x <= 5, x * x / 2, 5 * x - 12.5)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


class Share(Ramp):
    """Gradloupe: x: float64[7] positive"""
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("visitor")
    (folder / "some.py").write_text(FILE)
    return folder


def test_a_likelier_call_in_which_only_backward_raises_is_a_warning_in_every_form(folder: Path) -> None:
    forms = in_every_form(folder, "some.py:Row --check --save-html row.html")
    assert {each.returncode for each in forms.values()} == {0}
    table, below = forms["text"].stdout.split("\n\n", 1)
    assert re.search(r"^Row .* matches, backward raises in a likelier call ", table, re.MULTILINE)
    said = "forward runs with `x: float64[7]; s: float64[7]`, and backward raises RuntimeError: "
    assert f"Row backward {said}" in " ".join(below.split())
    (found,) = json.loads(forms["json"].stdout)["functions"]
    assert found["passed_over"].startswith(said)
    assert [each["id"] for each in found["warnings"]] == ["backward"]
    assert f"But {said}" in found["sentence"]
    assert said in forms["junit"].stdout
    assert "backward</code> raises RuntimeError" in (folder / "row.html").read_text()


def test_who_is_strict_is_failed_by_it_unless_it_is_allowed(folder: Path) -> None:
    assert ran(folder, "some.py:Row --check --strict").returncode == 1
    assert ran(folder, "some.py:Row --check --strict --allow Row:backward").returncode == 0


def test_in_a_notebook_it_is_said_as_well(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(folder))
    import some  # type: ignore[import-not-found]

    assert "s: float64[7]" in gradloupe.check(some.Row).passed_over
    assert gradloupe.check(some.Column).passed_over == ""


def test_nothing_is_said_where_no_likelier_call_was_passed_over(folder: Path) -> None:
    (found,) = json.loads(ran(folder, "some.py:Column --check --format json").stdout)["functions"]
    assert (found["passed_over"], found["warnings"]) == ("", [])


def test_what_is_wrong_just_beyond_the_range_is_a_difference(folder: Path) -> None:
    forms = in_every_form(folder, "some.py:Ramp --check")
    assert {each.returncode for each in forms.values()} == {1}
    assert re.search(r"^Ramp .* differs ", forms["text"].stdout, re.MULTILINE)
    (found,) = json.loads(forms["json"].stdout)["functions"]
    assert "Outside this range backward differs for x > 5" in found["sentence"]
    assert [each["id"] for each in found["faults"]] == ["gradient"]


def test_the_domain_that_a_recipe_gives_ends_where_it_says(folder: Path) -> None:
    process = ran(folder, "some.py:Share --check --format json")
    (found,) = json.loads(process.stdout)["functions"]
    assert (process.returncode, found["word"], found["recipe"]) == (0, "matches here", "x: float64[7] positive")
