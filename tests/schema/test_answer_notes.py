"""The answer note: what is wrong has one name, whatever the numbers, the inputs and the place."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from functions.basics import with_backward
from support.answers import document
from support.sections import op_of, written

from gradloupe.ops import OPS, Input, Op


def masked(low: float, high: float, factor: float = 1.0) -> Op:
    """A clamp whose backward has no mask."""
    return written(lambda x: factor * x.clamp(low, high), lambda x: factor * torch.ones_like(x))


def scaled(shape: tuple[int, ...], weights: int, back: Callable[..., Any]) -> Op:
    """A weight for each row of a matrix, and what backward returns as its gradient."""
    function = with_backward(lambda x, w: x * w[:, None], lambda g, x, w: back(g * w[:, None], g * x))
    return op_of(function.apply, Input("x", shape=shape), Input("weight", shape=(weights,)), wrt="weight[0]")


def returned(backward: Callable[[torch.Tensor, torch.Tensor], Any]) -> Op:
    """A square, and what its backward does with x and grad_output."""
    return op_of(with_backward(torch.square, lambda g, x: backward(x, g)).apply)


VARIANTS = {
    "mask-forgotten": [masked(-1.0, 1.0), masked(-0.5, 2.5), masked(0.0, 1.3, 4.0), OPS["incorrect_clipped_relu"]],
    "factor-constant": [
        written(torch.sin, lambda x: 1.5 * torch.cos(x)),
        returned(lambda x, g: x * g),
        written(torch.exp, lambda x: 3 * torch.exp(x)),
    ],
    "factor-missing": [
        written(lambda x: x**4 / 4, lambda x: x * x),
        written(lambda x: torch.exp(-x * x / 2), lambda x: torch.exp(-x * x / 2)),
    ],
    "sign": [written(torch.cos, torch.sin), returned(lambda x, g: -2 * x * g)],
    "forgets-grad_output": [returned(lambda x, g: 2 * x), returned(lambda x, g: torch.ones_like(x))],
    "sign-of-grad_output": [returned(lambda x, g: 2 * x * g.abs())],
    "in-place": [returned(lambda x, g: g.mul_(2 * x)), OPS["gradient_changed_in_place"]],
    "blocked": [written(torch.sin, torch.zeros_like), returned(lambda x, g: None)],
    "term-added": [OPS["weight_decay_in_backward"], returned(lambda x, g: 2 * x * g + 1)],
    "gradients-swapped": [OPS["swapped_gradients"]],
    "sum-missing": [scaled((3, 4), 3, lambda x, w: (x, w)), scaled((5, 2), 5, lambda x, w: (x, w))],
    "gradient-shape": [scaled((3, 4), 3, lambda x, w: (x, w.sum()[None, None].expand(1, 2)))],
    "gradient-count": [scaled((3, 4), 3, lambda x, w: x)],
    "backward-fails": [returned(lambda x, g: x.no_such_name)],
    "solved": [returned(lambda x, g: 2 * x * g), scaled((3, 4), 3, lambda x, w: (x, w.sum(1))), OPS["snake"]],
}


@pytest.mark.parametrize(
    ("note", "place"), [(note, place) for note, ops in VARIANTS.items() for place in range(len(ops))]
)
def test_every_variant_of_a_mistake_has_the_same_note(note: str, place: int) -> None:
    assert document(VARIANTS[note][place], "curves")[0]["verdict"]["note"] == note


@pytest.mark.parametrize(
    ("name", "note"), [("clamp_with_grad", "solved"), ("late_read", "late-read"), ("snake", "solved")]
)
def test_a_breach_of_the_contract_has_its_note(name: str, note: str) -> None:
    assert document(name, "contract")[0]["note"] == note
