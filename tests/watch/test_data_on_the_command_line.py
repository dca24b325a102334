"""`gradloupe my_ops.py --data step.gradloupe`: the calls of a step are how its Functions are called."""

import json

import pytest
import torch
from support.command_line import ran
from support.seen_step import OPS, functions_of, seen_step

import gradloupe


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("seen")
    seen_step(where).save(where / "step.gradloupe")
    return where


@pytest.fixture(scope="module")
def found(folder):
    checked = ran(folder, "my_ops.py --data step.gradloupe --check --format json")
    return {each["name"]: each for each in json.loads(checked.stdout)["functions"]}


def test_the_captured_call_is_the_recipe(found):
    assert found["ClampWithGrad"]["recipe"] == "input: float32[8,5]; min = -1.0; max = 1.0"
    assert found["Rows"]["recipe"] == "x: float32[8,5]; w: float32[5] nograd"
    assert found["NeverCalled"]["recipe"] == "x: float64[7]"


def test_a_capture_is_a_target_for_the_functions_that_it_has_seen(folder):
    checked = ran(folder, "step.gradloupe --check --format json")
    assert [each["name"] for each in json.loads(checked.stdout)["functions"]] == [
        "ClampWithGrad",
        "WrongFarOut",
        "Rows",
    ]


def test_only_what_the_data_touch_fails(folder, found):
    assert {name: each["ok"] for name, each in found.items()} == {
        "ClampWithGrad": False,
        "WrongFarOut": True,
        "Rows": True,
        "NeverCalled": True,
    }
    assert {name: each["word"] for name, each in found.items() if each["spared"]} == {
        "WrongFarOut": "differs",
        "NeverCalled": "differs",
    }
    assert found["ClampWithGrad"]["sweeps"][0]["touched"] == 0.2
    line = "my_ops.py:WrongFarOut --data step.gradloupe --check"
    spared, everywhere = ran(folder, line), ran(folder, f"{line} --everywhere")
    assert (spared.returncode, everywhere.returncode) == (0, 1)
    assert "differs, untouched by your data" in spared.stdout
    assert "None of the inputs of WrongFarOut at square lies where backward differs." in everywhere.stdout


def test_what_cannot_be_read_or_found_is_told_in_a_sentence(folder, tmp_path):
    (folder / "half.gradloupe").write_bytes((folder / "step.gradloupe").read_bytes()[:900])
    (tmp_path / "step.gradloupe").write_bytes((folder / "step.gradloupe").read_bytes())
    cases = {
        "my_ops.py --data half.gradloupe --check": "half.gradloupe is no capture, or is cut off",
        "half.gradloupe": "half.gradloupe is no capture, or is cut off",
        "my_ops.py --data nowhere.gradloupe": "nowhere.gradloupe cannot be read: No such file",
        "step.gradloupe half.gradloupe": "are 2 captures; give one of them.",
        "--data step.gradloupe": "--data needs the file or module",
        "my_ops.py --check --everywhere": "--everywhere is for --check --data step.gradloupe",
    }
    for line, sentence in cases.items():
        ended = ran(folder, line)
        assert (ended.returncode, sentence in ended.stderr, ended.stderr.count("\n")) == (2, True, 1), ended.stderr
    ended = ran(tmp_path, "step.gradloupe --check")
    assert "step.gradloupe has seen my_ops.py, and none is in this folder" in ended.stderr
    assert (tmp_path / "step.gradloupe").read_bytes() == (folder / "step.gradloupe").read_bytes()


def test_a_capture_of_another_torch_and_of_a_class_that_has_changed_says_so(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("torch.__version__", "2.99.0")
    seen_step(tmp_path).save(tmp_path / "step.gradloupe")
    monkeypatch.undo()
    (tmp_path / "my_ops.py").write_text(OPS.replace("return x * x", "return x.square()"), encoding="utf-8")
    said = " ".join(ran(tmp_path, "my_ops.py:WrongFarOut --data step.gradloupe --check").stdout.split())
    assert f"step.gradloupe was recorded with torch 2.99.0, and this is {torch.__version__}" in said
    assert "WrongFarOut has changed since step.gradloupe was recorded" in said


MATMUL = """import torch


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g @ b.T, a.T @ g
"""


def test_where_the_rows_that_are_held_make_no_call_another_one_is_found_out(tmp_path):
    (tmp_path / "my_ops.py").write_text(MATMUL, encoding="utf-8")
    product = functions_of(tmp_path).Product
    with gradloupe.watch() as seen:  # of square matrices both are cut
        product.apply(torch.ones(150, 150).requires_grad_(), torch.ones(150, 150).requires_grad_()).sum().backward()
    (found,) = seen.check()
    assert found.word == "matches"
    assert "150" not in found.recipe
    assert found.sweeps[0].seen


def test_in_this_process_the_same_calls_are_checked_and_looked_at(folder):
    seen = seen_step(folder)
    assert [each.recipe for each in seen.check()] == [
        "input: float32[8,5]; min = -1.0; max = 1.0",
        "x: float32[8,5]",
        "x: float32[8,5]; w: float32[5] nograd",
    ]
    assert [each.ok for each in seen.check()] == [False, True, True]
    assert not seen.check("WrongFarOut", everywhere=True)
    assert seen.check("Rows").word == "matches"
    assert "<iframe" in seen.look("Rows")._repr_html_()
    with pytest.raises(
        ValueError, match="NeverCalled was not called in the block; name one of ClampWithGrad, WrongFarOut or Rows"
    ):
        seen.check("NeverCalled")
    with pytest.raises(ValueError, match="No custom Function was called"):
        gradloupe.watch().look()
