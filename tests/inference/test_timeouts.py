"""A call that does not come to an end is interrupted while arguments are looked for, and others are tried."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.autograd import Function

from gradloupe.server.inference.infer import NotInferred, infer


class Endless(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        while bool(torch.isfinite(x).all()):
            x = x * 1.0
        return x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


class EndlessBack(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        while True:
            g = g * 1.0


class Contraction(Function):
    """Newton's square root, which of a negative number is never found."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = torch.ones_like(x)
        while float((y * y - x).abs().max()) > 1e-9:
            y = (y + x / y) / 2
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g / (2 * ctx.saved_tensors[0])


@pytest.mark.parametrize(("function", "where"), [(Endless, "forward"), (EndlessBack, "backward")])
def test_what_never_comes_back_is_said_to(function: Any, where: str) -> None:
    with pytest.raises(NotInferred) as raised:
        infer(function, budget=1.0)
    assert f"{function.__name__} does not come to an end: {where} did not return within" in raised.value.sentence
    assert "x: float64[7]" in raised.value.sentence


def test_arguments_with_which_it_comes_to_an_end_are_found_after_some_with_which_it_does_not() -> None:
    assert infer(Contraction, budget=1.5).recipe.text() == "x: float64[7] positive"
