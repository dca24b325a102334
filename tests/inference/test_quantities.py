"""Amounts that an argument says: shares of a size, steps of a quantiser, bounds, switches; and what cannot be cured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.autograd import Function

from gradloupe.server.inference.infer import NotInferred, infer


class Pruned(Function):
    """A share of the smallest is taken away."""

    @staticmethod
    def forward(ctx: Any, weight: Any, prune_rate: Any = 0.01) -> Any:
        out = weight.clone()
        smallest = weight.abs().flatten().argsort()[: int(prune_rate * weight.numel())]
        out.flatten()[smallest] = 0
        return out

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, None


class Subnet(Function):
    """The largest are kept, by the share that they are."""

    @staticmethod
    def forward(ctx: Any, scores: Any, k: Any) -> Any:
        count = scores.numel()
        out, order = torch.ones_like(scores), scores.abs().flatten().argsort()
        out.flatten()[order[: int((1 - k) * count)]] = 0
        return out * scores

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, None


class Stairs(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, eps: Any, delta: Any = 0) -> Any:
        return (x / (eps + delta)).floor() * eps

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, None, None


class Safe(Function):
    """What is added to a step keeps from dividing by 0."""

    @staticmethod
    def forward(ctx: Any, x: Any, size: Any, eps: Any) -> Any:
        return torch.round(x / (size + eps)) * size

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, None, None


class Shares(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, bit: Any) -> Any:
        assert bit > 0
        assert torch.all(x >= 0) and torch.all(x <= 1)  # noqa: PT018
        return torch.round(x * (2**bit - 1)) / (2**bit - 1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, None


class Debts(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        if not torch.all(x <= 0) or (x < -1).any():
            raise ValueError("a debt is asked for")
        ctx.save_for_backward(x)
        return (-x).sqrt()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return -g / (2 * (-ctx.saved_tensors[0]).sqrt())


class Dropped(Function):
    """One mask for all rows, while it learns."""

    @staticmethod
    def forward(ctx: Any, x: Any, p: Any = 0.5, training: Any = False) -> Any:
        ctx.p, ctx.training, out = p, training, x.clone()
        if ctx.p > 0 and ctx.training:
            ctx.noise = torch.empty(x.size(0), x.size(-1), dtype=x.dtype).bernoulli_(1 - p)[:, None, :]
            out.mul_(ctx.noise)
        return out

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return (g * ctx.noise if ctx.p > 0 and ctx.training else g), None, None


class Switched(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, enabled: torch.Tensor) -> Any:
        if enabled[0] == 1:
            x = x.round()
        return x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, None


class Placed(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, device: Any = "cuda") -> Any:
        ctx.save_for_backward(x)
        return x.to(device) ** 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * g * ctx.saved_tensors[0], None


class Removed(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return torch.from_numpy(x.detach().numpy().astype(np.float_))  # type: ignore[attr-defined]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


class OnDevice(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, count: Any) -> Any:
        ctx.count = count
        return x * 1

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        assert ctx.count is not None, "a count is needed"
        return torch.zeros(1, device=g.get_device()) + g, None


class Routed(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, router: Any, group: Any, last: Any = None) -> Any:
        return router.sent(x, group)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, None, None, None


def inferred_arguments(function: Any) -> dict[str, Any]:
    return {each.name: each for each in infer(function).recipe.arguments}


def refused(function: Any) -> NotInferred:
    with pytest.raises(NotInferred) as raised:
        infer(function)
    return raised.value


@pytest.mark.parametrize(("function", "name", "share"), [(Pruned, "prune_rate", 0.01), (Subnet, "k", 0.5)])
def test_a_share_of_a_size_is_its_default_or_so_large_that_something_is_seen_of_it(
    function: Any, name: str, share: float
) -> None:
    assert inferred_arguments(function)[name].value == share


def test_what_is_divided_by_before_rounding_is_a_step_that_is_seen_whatever_it_is_called() -> None:
    assert inferred_arguments(Stairs)["eps"].value == 0.5


def test_what_is_added_to_a_step_stays_tiny() -> None:
    assert inferred_arguments(Safe)["eps"].value < 1e-3


@pytest.mark.parametrize(("function", "fill"), [(Shares, "positive"), (Debts, "negative")])
def test_numbers_keep_the_bounds_that_are_asked_for(function: Any, fill: str) -> None:
    assert inferred_arguments(function)["x"].fill == fill


def test_a_dropout_is_looked_at_as_it_is_declared() -> None:
    found = inferred_arguments(Dropped)
    assert found["training"].value is False


def test_a_switch_in_a_tensor_is_on() -> None:
    assert bool(infer(Switched).recipe.tensors()["enabled"][0])


def test_a_default_that_needs_a_gpu_is_not_needed() -> None:
    assert inferred_arguments(Placed)["device"].value == "cpu"


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (Removed, "was removed in the NumPy 2.0 release"),
        (Removed, "whatever it is called with; fix it."),
        (OnDevice, "OnDevice cannot run on this machine, whatever it is given"),
    ],
)
def test_what_no_argument_cures_is_said(function: Any, words: str) -> None:
    assert words in refused(function).sentence


def test_what_is_to_be_filled_in_names_every_argument_that_has_to_be_given() -> None:
    names = [piece.split()[0].rstrip(":") for piece in refused(Routed).recipe.split("; ")]
    assert names == ["x", "router", "group"]
