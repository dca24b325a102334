"""Operators of torch.library.custom_op that have a backward are Functions like the others, called by their schema."""

import importlib.util
import json
from pathlib import Path

import pytest
import torch
from support.command_line import ran
from support.own_worker import worker

import gradloupe

KNEE = """import torch


@torch.library.custom_op("gradloupe_{0}::knee", mutates_args=())
def knee(x: torch.Tensor, beta: float = 1.5) -> torch.Tensor:
    return x * torch.sigmoid(beta * x)


def keep(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.beta = inputs[1]


def backward(ctx, grad_output):
    (x,) = ctx.saved_tensors
    s = torch.sigmoid(ctx.beta * x)
    return grad_output * (s + {1} * x * s * (1 - s)), None


knee.register_autograd(backward, setup_context=keep)


@torch.library.custom_op("gradloupe_{0}::spread", mutates_args=(), schema="(Tensor v, Tensor i, int n=3) -> Tensor")
def spread(values, index, size=3):
    return values.new_zeros(size).index_add(0, index, values)


def keep_index(ctx, inputs, output):
    ctx.index = inputs[1]


def gathered(ctx, grad_output):
    return grad_output[ctx.index], None, None


spread.register_autograd(gathered, setup_context=keep_index)


@torch.library.custom_op("gradloupe_{0}::copy", mutates_args=())
def copy(x: torch.Tensor) -> torch.Tensor:
    return x.clone()
"""
RIGHT, WRONG = "ctx.beta", "1"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of two files of operators: those of one are right."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "right.py").write_text(KNEE.format("right", RIGHT))
    (tmp_path / "wrong.py").write_text(KNEE.format("wrong", WRONG))
    return tmp_path


def test_they_are_called_by_their_names_types_and_defaults_and_shown_with_their_backward(folder: Path) -> None:
    with worker("right.py") as loaded:
        assert loaded.names == ["knee", "spread"]
        knee, spread = (loaded.describe(name)["op"] for name in loaded.names)
    assert knee["recipe"] == "x: float64[7]; beta = 1.5"
    assert spread["recipe"] == "values: float64[7]; index: int64[7] < 2; size = 3"
    lines = knee["source"].splitlines()
    assert (knee["file"], knee["first_line"], lines[1][:8]) == ("right.py", 4, "def knee")
    assert "1 - s" in lines[-1]


def test_a_check_finds_them_in_a_file_and_in_a_folder_and_points_at_their_backward(folder: Path) -> None:
    process = ran(folder, ". --check --format json")
    assert (process.returncode, process.stderr) == (1, "")
    found = {(each["file"], each["name"]): each for each in json.loads(process.stdout)["functions"]}
    words = {place: each["word"] for place, each in found.items()}
    assert words == {
        ("right.py", "knee"): "matches",
        ("right.py", "spread"): "matches",
        ("wrong.py", "wrong.knee"): "differs",
        ("wrong.py", "wrong.spread"): "matches",
    }
    (fault,) = found["wrong.py", "wrong.knee"]["faults"]
    assert (folder / "wrong.py").read_text().splitlines()[fault["line"] - 1].startswith("def backward")


def test_in_a_notebook_they_are_passed_as_they_are(folder: Path) -> None:
    (folder / "cells.py").write_text(KNEE.format("cells", WRONG))
    spec = importlib.util.spec_from_file_location("cells", folder / "cells.py")
    assert spec is not None
    assert spec.loader is not None
    cells = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cells)
    assert gradloupe.check(cells.knee).word == "differs"
    given = (torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0, 2, 0]), 4)
    assert gradloupe.check(cells.spread, given).recipe == "values: float32[3]; index: int64[3] < 3; size = 4"
