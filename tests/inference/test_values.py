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


class Entropy(Function):
    @staticmethod
    def forward(ctx: Any, probs: Any) -> Any:
        ctx.save_for_backward(probs)
        return -(probs * probs.log()).sum(-1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (probs,) = ctx.saved_tensors
        return -g.unsqueeze(-1) * (probs.log() + 1)


class Located(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, boundaries: Any) -> Any:
        if (boundaries.diff() <= 0).any():
            raise ValueError("not in order")
        ctx.save_for_backward(x, boundaries)
        return ((x.unsqueeze(-1) - boundaries) ** 2).sum(-1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, boundaries = ctx.saved_tensors
        slope = 2 * (x.unsqueeze(-1) - boundaries) * g.unsqueeze(-1)
        return slope.sum(-1), -slope.reshape(-1, len(boundaries)).sum(0)


@pytest.mark.parametrize(
    ("function", "name", "fill", "reason"),
    [
        (Entropy, "probs", "simplex", "its elements are probabilities, which add up to 1, as its name says"),
        (Located, "boundaries", "rising", "its elements rise, as its name says"),
    ],
)
def test_a_name_may_say_what_the_values_are_to_each_other(function: Any, name: str, fill: str, reason: str) -> None:
    found = infer(function)
    assert {each.name: each.fill for each in found.recipe.inputs}[name] == fill
    assert reason in dict(found.because)[name]


def test_probabilities_add_up_to_one_and_are_swept_between_none_and_all() -> None:
    probs = parse_recipe("p: float64[3,4] simplex").tensors()["p"]
    assert torch.allclose(probs.sum(-1), torch.ones(3, dtype=torch.float64))
    assert probs.min() > 0
    (low, high), within = usual_domain("simplex", probs, (0, 0))
    assert 0 < low < high < 1
    assert within == (low, high)


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
