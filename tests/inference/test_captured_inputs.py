"""Tensors that a function reads without being given them are looked at, named, or said not to have been."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import gradloupe

F = torch.autograd.Function
X = torch.tensor([0.3, -1.2, 0.7])
NUMBERS = (1.5, 2.0, -0.3)


def learned() -> torch.Tensor:
    return torch.tensor(NUMBERS, requires_grad=True)


class RightScale(F):
    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, w = ctx.saved_tensors
        return g * w, g * x


class WrongScale(RightScale):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, w = ctx.saved_tensors
        return g * w, 3 * g * x


class Net(torch.nn.Module):
    def __init__(self, scale: type[RightScale]) -> None:
        super().__init__()
        self.scale = scale
        self.inner = torch.nn.Linear(3, 3)
        self.w = torch.nn.Parameter(learned())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.scale.apply(self.inner(x), self.w)


NETS = {scale: Net(scale) for scale in (RightScale, WrongScale)}
GLOBAL, FIXED, STATE = learned(), (learned(),), SimpleNamespace(kernel=learned())
LONG = torch.ones(20_000, requires_grad=True)


def enclosed(scale: type[RightScale]) -> Callable[[torch.Tensor], torch.Tensor]:
    w = [learned()]
    return lambda x: scale.apply(x, w[0])


def wrong_by_a_global(x: torch.Tensor) -> torch.Tensor:
    return WrongScale.apply(x, GLOBAL)


def by_a_net(x: torch.Tensor) -> torch.Tensor:
    return NETS[WrongScale](x)


def with_a_fixed_one(x: torch.Tensor) -> torch.Tensor:
    return RightScale.apply(x, FIXED[0])


def with_a_long_one(x: torch.Tensor) -> torch.Tensor:
    return RightScale.apply(x, LONG[:3])


class ReadsState(F):
    """Autograd knows nothing of the kernel."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * STATE.kernel

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * STATE.kernel.detach()


class AsksState(ReadsState):
    """The kernel itself takes no part, but for its size."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * len(STATE.kernel)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * len(STATE.kernel)


class Residual(F):
    """Is given a module and its parameters, which are the same tensors."""

    @staticmethod
    def forward(ctx: Any, x: Any, module: Any, *parameters: Any) -> Any:
        ctx.module = module
        ctx.save_for_backward(x)
        with torch.no_grad():
            return x + module(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            found = torch.autograd.grad(ctx.module(x), (x, *ctx.module.parameters()), g)
        return g + found[0], None, *found[1:]


INNER = NETS[RightScale].inner


@pytest.mark.parametrize(
    ("function", "given", "word", "said"),
    [
        (NETS[RightScale], (X,), "matches", "w inner.weight inner.bias"),
        (NETS[WrongScale], (X,), "differs", "respect to w["),
        (enclosed(RightScale), (X,), "matches", "w.0"),
        (enclosed(WrongScale), (X,), "differs", "≤ w.0 ≤"),
        (wrong_by_a_global, (X,), "differs", "≤ GLOBAL ≤"),
        (by_a_net, (X,), "differs", "NETS.<class"),
        (with_a_fixed_one, (X,), "undecided", "Not every input was swept: FIXED.0 not."),
        (with_a_long_one, (X,), "undecided", "Not every input was swept: LONG not."),
        (ReadsState, (X,), "differs", "forward moves with STATE.kernel, which requires grad and is no argument"),
        (AsksState, (X,), "matches", ""),
        (Residual, (X, INNER, *INNER.parameters()), "matches", "parameters1"),
    ],
)
def test_what_is_captured_is_looked_at_or_said_not_to_be(function: Any, given: Any, word: str, said: str) -> None:
    kept = [each.detach().clone() for each in (GLOBAL, STATE.kernel, *INNER.parameters())]
    found = gradloupe.check(function, given)
    assert (found.word, found.ok) == (word, word == "matches")
    if word == "matches":
        assert {*said.split()} <= {each.wrt.partition("[")[0] for each in found.sweeps}
    else:
        assert said in found.sentence
    assert all(map(torch.equal, kept, (GLOBAL, STATE.kernel, *INNER.parameters())))
