"""Functions of tensors that they read without being given them, from a module, a closure, an object or a global."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch

from functions.basics import altered, of
from gradloupe.ops.op import MOST_ELEMENTS

F = torch.autograd.Function
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


WrongScale = altered(RightScale, "WrongScale", backward=of(lambda g, x, w: (g * w, 3 * g * x)))


class Net(torch.nn.Module):
    def __init__(self, scale: type[RightScale]) -> None:
        super().__init__()
        self.scale = scale
        self.inner = torch.nn.Linear(3, 3)
        self.w = torch.nn.Parameter(learned())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.scale.apply(self.inner(x), self.w)


NETS = {scale: Net(scale) for scale in (RightScale, WrongScale)}
GLOBAL, W, FIXED, STATE = learned(), learned(), (learned(),), SimpleNamespace(kernel=learned())
LONG = torch.ones(MOST_ELEMENTS + 1, requires_grad=True)


def enclosed(scale: type[RightScale]) -> Callable[[torch.Tensor], torch.Tensor]:
    w = [learned()]
    return lambda x: scale.apply(x, w[0])


def wrong_by_a_global(x: torch.Tensor) -> torch.Tensor:
    return WrongScale.apply(x, GLOBAL)


def by_a_net(x: torch.Tensor) -> torch.Tensor:
    return NETS[WrongScale](x)


def called_as_its_argument(W: torch.Tensor) -> torch.Tensor:
    return _scaled_by_a_global(W)


def _scaled_by_a_global(x: torch.Tensor) -> torch.Tensor:
    return WrongScale.apply(x, W)


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
