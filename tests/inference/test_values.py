"""The values of tensors: labels of 0 or 1, permutations and their inverses, and where they are swept."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from functions.basics import SquaredError
from torch.autograd import Function

from gradloupe.server.inference.construction.domain import usual_domain
from gradloupe.server.inference.infer import infer
from gradloupe.server.inference.recipe.grammar import parse_recipe


class CrossEntropy(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, target: Any) -> Any:
        p = torch.sigmoid(x)
        ctx.save_for_backward(p, target)
        return -(target * p.log() + (1 - target) * (1 - p).log()).sum()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        p, target = ctx.saved_tensors
        return g * (p - target), None


class Hinge(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, y_true: Any) -> Any:
        margin = 1 - x * y_true
        ctx.save_for_backward(margin, y_true)
        return margin.clamp(min=0).sum()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        margin, y_true = ctx.saved_tensors
        return -g * y_true * (margin > 0), None


class Taken(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, order: Any, order_inv: Any) -> Any:
        ctx.save_for_backward(order, order_inv)
        return x.gather(-1, order)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g.gather(-1, ctx.saved_tensors[1]), None, None


@pytest.mark.parametrize(
    ("function", "fill", "reason"),
    [
        (CrossEntropy, "binary", "it is 0 or 1, as `1 - target` says"),
        (Hinge, "signs", "it is -1 or 1, as `1 - x * y_true` says"),
        (SquaredError, "normal", ""),
    ],
)
def test_labels_are_what_the_loss_takes_them_for(function: Any, fill: str, reason: str) -> None:
    found = infer(function)
    label = found.recipe.arguments[1]
    assert (label.fill, label.grad, label.held) == (fill, False, "data")
    assert reason in dict(found.because)[label.name]


def test_an_inverse_permutation_undoes_the_other() -> None:
    found = infer(Taken)
    assert [each.fill for each in found.recipe.arguments] == ["normal", "shuffled", "inverse"]
    tensors = found.recipe.tensors()
    assert tensors["order"][tensors["order_inv"].long()].tolist() == list(range(7))
    assert "it undoes the other" in dict(found.because)["order_inv"]


def test_words_for_values_can_be_written() -> None:
    text = "x: float64[7]; y: float64[7] binary nograd; p: int64[2,3] inverse"
    recipe = parse_recipe(text)
    assert recipe.text() == text
    assert set(recipe.tensors()["y"].tolist()) == {0.0, 1.0}


def test_a_sweep_stays_where_the_values_have_a_meaning() -> None:
    rising = torch.tensor([-1.0, 0.0, 1.0])
    (low, high), within = usual_domain("rising", rising, (1,))
    assert -1 < low < 0 < high < 1
    assert within == (low, high)
    assert usual_domain("binary", rising, (0,))[1] == (0.0, 1.0)
    assert usual_domain("positive", rising, (0,))[1][0] > 0
    assert usual_domain("negative", rising, (0,))[1][1] < 0
