"""A declared default is what a Function is called with, whether its backward is right or wrong there."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch
from torch.autograd import Function

from gradloupe.ops import OPS
from gradloupe.server.inference.infer import infer
from gradloupe.server.inference.recipe.recipe import Constant, Recipe
from gradloupe.server.runtime.arguments import result_tuple


class Scaled(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, scale: Any = 0.5) -> Any:
        ctx.save_for_backward(x)
        ctx.scale = scale
        return (scale * x * x).mean()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * ctx.scale * 2 * x / x.numel(), None


class ScaledWithoutScale(Scaled):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 2 * x / x.numel(), None


class Focal(Function):
    """The focal loss of two classes; gamma = 0 is the cross entropy."""

    @staticmethod
    def forward(ctx: Any, x: Any, target: Any, gamma: Any = 2.0) -> Any:
        p = torch.sigmoid(x)
        p = torch.where(target > 0, p, 1 - p)
        ctx.save_for_backward(p, target)
        ctx.gamma = gamma
        return (-((1 - p) ** gamma) * p.log()).mean()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        p, target = ctx.saved_tensors
        gamma, sign = ctx.gamma, torch.where(target > 0, 1.0, -1.0).to(p)
        slope = (1 - p) ** gamma * (gamma * p * p.log() - (1 - p))
        return g * sign * slope / p.numel(), None, None


class FocalWithoutGamma(Focal):
    """Right for gamma = 1 alone."""

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        p, target = ctx.saved_tensors
        gamma, sign = ctx.gamma, torch.where(target > 0, 1.0, -1.0)
        slope = (1 - p) ** gamma * (p * p.log() - (1 - p))
        return g * sign * slope / p.numel(), None, None


class Halved(Function):
    """Wrong where the factor is left out, and right where one is given."""

    @staticmethod
    def forward(ctx: Any, x: Any, factor: Any = None) -> Any:
        ctx.save_for_backward(x)
        ctx.factor = factor
        return ((0.5 if factor is None else factor) * x * x).sum()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 2 * x * (1.0 if ctx.factor is None else ctx.factor), None


class Doubled(Function):
    """Wrong unless the flag is set."""

    @staticmethod
    def forward(ctx: Any, x: Any, twice: bool = False) -> Any:
        ctx.save_for_backward(x)
        return (2 * x * x if twice else x * x).sum()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 4 * x, None


class Reduced(Function):
    """Wrong for the empty string, and right for every word."""

    @staticmethod
    def forward(ctx: Any, x: Any, reduction: str = "") -> Any:
        ctx.save_for_backward(x)
        ctx.share = 1 / x.numel() if reduction == "mean" else 1
        ctx.wrong = 1 if reduction else 3
        return (x * x).sum() * ctx.share

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 2 * x * ctx.share * ctx.wrong, None


class Biased(Function):
    """Backward gives a gradient for the bias, so that there is more to see with one."""

    @staticmethod
    def forward(ctx: Any, x: Any, bias: Any = None) -> Any:
        ctx.save_for_backward(x, bias)
        y = (x * x).sum()
        return y if bias is None else y + (bias * bias).sum()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, bias = ctx.saved_tensors
        return g * 2 * x, None if bias is None else g * 2 * bias


class BiasedTwice(Biased):
    """Wrong for the bias alone."""

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, bias = ctx.saved_tensors
        return g * 2 * x, None if bias is None else g * 4 * bias


class Grouped(Function):
    """Runs where the groups divide the length."""

    @staticmethod
    def forward(ctx: Any, x: Any, groups: int = 4) -> Any:
        ctx.save_for_backward(x)
        ctx.groups = groups
        return (x * x).reshape(groups, -1).sum(1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * x * g.repeat_interleave(x.numel() // ctx.groups).reshape(x.shape), None


class GroupedWrongly(Grouped):
    """Right for one group alone."""

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * x * g.reshape(-1)[0], None


class Softmax(Function):
    """Along a dimension that a vector does not have."""

    @staticmethod
    def forward(ctx: Any, x: Any, dim: int = 1) -> Any:
        y = x.softmax(dim)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (y,) = ctx.saved_tensors
        return y * (g - (g * y).sum(ctx.dim, keepdim=True)), None


class SoftmaxOfAVector(Softmax):
    """Right for a vector alone, which has one dimension."""

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (y,) = ctx.saved_tensors
        return y * (g - (g * y).sum(0, keepdim=True)), None


class NotANumber(Function):
    """With its default only backward is not finite."""

    @staticmethod
    def forward(ctx: Any, x: Any, p: Any = 0.0) -> Any:
        ctx.save_for_backward(x)
        ctx.p = p
        return (x * x * (1 + p)).sum()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 2 * x * (ctx.p + ctx.p * ctx.p) / x.new_tensor(ctx.p), None


class Divided(Function):
    """Cannot be called with its default."""

    @staticmethod
    def forward(ctx: Any, x: Any, by: Any = None) -> Any:
        ctx.by = by
        return x / by

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g / ctx.by, None


class Infinite(Function):
    """With its default nothing is finite."""

    @staticmethod
    def forward(ctx: Any, x: Any, by: Any = 0.0) -> Any:
        ctx.save_for_backward(x)
        ctx.by = by
        return x * x / by

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * g * ctx.saved_tensors[0] / ctx.by, None


def inferred_value(function: Any, name: str) -> Any:
    """What a Function is called with for one argument: a constant, or "a tensor"; None where it is left out."""
    found = {each.name: each for each in infer(function).recipe.arguments}.get(name)
    return found.value if isinstance(found, Constant) else found and "a tensor"


@pytest.mark.parametrize("function", [Scaled, ScaledWithoutScale])
def test_a_declared_scale_is_kept(function: Any) -> None:
    assert inferred_value(function, "scale") == 0.5


@pytest.mark.parametrize("function", [Focal, FocalWithoutGamma])
def test_a_focal_loss_is_called_with_its_own_gamma(function: Any) -> None:
    assert inferred_value(function, "gamma") == 2.0


@pytest.mark.parametrize(
    ("function", "name", "default"), [(Halved, "factor", None), (Doubled, "twice", False), (Reduced, "reduction", "")]
)
def test_a_flag_or_a_sentinel_is_kept_where_backward_is_wrong(function: Any, name: str, default: Any) -> None:
    assert inferred_value(function, name) is default


@pytest.mark.parametrize("function", [Biased, BiasedTwice])
def test_a_wrong_gradient_of_an_optional_tensor_is_no_reason_to_leave_the_tensor_out(function: Any) -> None:
    assert inferred_value(function, "bias") == "a tensor"


@pytest.mark.parametrize(
    ("function", "name", "default"),
    [(Grouped, "groups", 4), (GroupedWrongly, "groups", 4), (Softmax, "dim", 1), (SoftmaxOfAVector, "dim", 1)],
)
def test_a_shape_is_found_that_a_default_can_run_with(function: Any, name: str, default: int) -> None:
    assert inferred_value(function, name) == default


def test_a_default_is_kept_where_backward_alone_is_not_finite() -> None:
    assert inferred_value(NotANumber, "p") == 0.0


@pytest.mark.parametrize("function", [Divided, Infinite])
def test_a_default_is_left_where_forward_cannot_run_with_it(function: Any) -> None:
    assert inferred_value(function, "by") not in (None, 0.0)


def scaled_backward(function: Any, factor: float) -> Any:
    """The Function with every gradient multiplied by a factor; its source reads as before."""
    right = function.backward

    @functools.wraps(right)
    def backward(ctx: Any, *given: Any) -> Any:
        found = right(ctx, *given)
        scaled = [each * factor if isinstance(each, torch.Tensor) else each for each in result_tuple(found)]
        return tuple(scaled) if isinstance(found, tuple) else scaled[0]

    return type(function.__name__, (function,), {"backward": staticmethod(backward), "__module__": __name__})


@functools.cache
def recipe_of(function: Any) -> Recipe:
    return infer(function).recipe


@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan")])
@pytest.mark.parametrize("function", [Scaled, Focal, Biased, Grouped, Softmax, OPS["layer_norm"].function])
def test_the_call_is_the_same_whether_backward_is_right_or_wrong(function: Any, factor: float) -> None:
    assert infer(scaled_backward(function, factor)).recipe == recipe_of(function)


class Raising(Softmax):
    """Its backward cannot run, however it is called."""

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * (torch.ones(3) @ torch.ones(4)), None


def test_a_backward_that_never_runs_is_called_as_forward_can_be() -> None:
    guess = infer(Raising)
    assert inferred_value(Raising, "dim") == 1
    assert "inconsistent tensor size" in guess.trouble
