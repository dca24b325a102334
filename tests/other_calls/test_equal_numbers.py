"""At equal numbers a maximum has many subgradients: each is right, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from support.sections import section
from torch.autograd import Function

from gradloupe.server.contract.xray import CheckRow
from gradloupe.server.inference.construction.op import op_of
from gradloupe.server.inference.recipe import parse_recipe
from gradloupe.server.other_calls.check import other_calls_rows


class EachLargest(Function):
    """Every one of the largest gets all of the gradient."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x.amax(-1, keepdim=True)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * (x == y)


class SharedByTheLargest(EachLargest):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        largest = (x == y).to(x)
        return g * largest / largest.sum(-1, keepdim=True)


class FirstLargest(EachLargest):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, _ = ctx.saved_tensors
        return torch.zeros_like(x).scatter(-1, x.argmax(-1, keepdim=True), g)


class Sorted(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y, order = x.sort(-1)
        ctx.save_for_backward(order)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (order,) = ctx.saved_tensors
        return torch.zeros_like(g).scatter(-1, order, g)


class Rises(Function):
    """The sum of the distances of neighbours, where a distance of 0 counts as a rise: no derivative, but fair."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.diff(dim=-1).abs().sum(-1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        sign = torch.where(x.diff(dim=-1) >= 0, 1.0, -1.0).to(x) * g[..., None]
        out = torch.zeros_like(x)
        out[..., 1:] += sign
        out[..., :-1] -= sign
        return out


class Larger(Function):
    """Both get all of the gradient where they are equal."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        return torch.maximum(x, y)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * (x >= y), g * (y >= x)


class Neither(Larger):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * (x > y), g * (y > x)


class FirstOfTwo(Larger):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * (x >= y), g * (y > x)


class Halves(Larger):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        share = torch.where(x == y, 0.5, (x > y).to(x))
        return g * share, g * (1 - share)


class Distance(Function):
    """A cone has no slope at its tip."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        length = (x - y).norm()
        ctx.save_for_backward((x - y) / length)
        return length

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (unit,) = ctx.saved_tensors
        return g * unit, -g * unit


ONE, TWO = "x: float64[3,4]", "x: float64[7]; y: float64[7]"


def row_of(function: Any, recipe: str) -> CheckRow:
    op = op_of(function, parse_recipe(recipe, ["x", "y"]), "f", "f", "own", recipe_given=True)
    (row,) = other_calls_rows(section(op))
    return row


@pytest.mark.parametrize(
    ("function", "recipe", "changed"),
    [
        (EachLargest, ONE, "equal numbers in pairs"),
        (Larger, TWO, "y equal to x"),
        (Neither, TWO, "y equal to x"),
    ],
)
def test_what_is_no_subgradient_is_told(function: Any, recipe: str, changed: str) -> None:
    row = row_of(function, recipe)
    assert row.level == "error"
    assert row.seen.startswith(f"Called with {changed}, for x = ")
    assert "equal numbers moved by equal amounts, backward returned " in row.seen


@pytest.mark.parametrize(
    ("function", "recipe"),
    [
        (SharedByTheLargest, ONE),
        (FirstLargest, ONE),
        (Sorted, ONE),
        (Rises, ONE),
        (FirstOfTwo, TWO),
        (Halves, TWO),
        (Distance, TWO),
    ],
)
def test_every_subgradient_is_right(function: Any, recipe: str) -> None:
    row = row_of(function, recipe)
    assert row.level == "fine"
    assert "equal numbers in pairs" in row.seen
