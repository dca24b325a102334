"""Functions as people write them by mistake, one mistake in each."""

from typing import Any

import torch

from functions.basics import Square, altered, of


class Sine(torch.autograd.Function):
    """The sine, which keeps its input; the planted ones differ from it in what is written here."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return torch.sin(x)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return grad_output * torch.cos(x)


class OfTwo(torch.autograd.Function):
    """u times the square of v."""

    @staticmethod
    def forward(ctx: Any, u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(u, v)
        return u * v**2

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        u, v = ctx.saved_tensors
        return grad_output * v**2, grad_output * 2 * u * v


TooMuchByNineTenThousandths = altered(
    Sine, "TooMuchByNineTenThousandths", backward=of(lambda g, x: g * x.cos() * 1.0009)
)
TooMuchByTwoThousandths = altered(Sine, "TooMuchByTwoThousandths", backward=of(lambda g, x: g * x.cos() * 1.002))
LosesTheSign = altered(Sine, "LosesTheSign", backward=of(lambda g, x: g.abs() * x.cos()))
WritesToGradOutput = altered(Sine, "WritesToGradOutput", backward=of(lambda g, x: g.mul_(x.cos())))
WrongBeyondThree = altered(
    Sine, "WrongBeyondThree", backward=of(lambda g, x: g * x.cos() * torch.where(x > 3, 2.0, 1.0))
)
Noisy = altered(Sine, "Noisy", backward=of(lambda g, x: g * x.cos() + 1e-4 * torch.randn_like(x)))
Clips = altered(Sine, "Clips", backward=of(lambda g, x: g.clamp(-1, 1) * x.cos()))
Squares = altered(Sine, "Squares", backward=of(lambda g, x: g**2 * x.cos()))
Forgets = altered(Sine, "Forgets", backward=of(lambda g, x: x.cos()))
RoundsToFloat32 = altered(Sine, "RoundsToFloat32", backward=of(lambda g, x: (g * x.cos()).float()))
ReturnsTooMany = altered(Sine, "ReturnsTooMany", backward=of(lambda g, x: (g * x.cos(), g)))
ReturnsNone = altered(OfTwo, "ReturnsNone", backward=of(lambda g, u, v: (g * v**2, None)))
ReturnsTooFew = altered(OfTwo, "ReturnsTooFew", backward=of(lambda g, u, v: g * v**2))
ForgetsTheConjugate = altered(Square, "ForgetsTheConjugate")  # right for real numbers
