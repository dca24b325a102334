"""Formulas that are computed in float32 or in half whatever they are given, and their derivatives."""

from collections.abc import Callable

import torch

Formula = Callable[[torch.Tensor], torch.Tensor]

# Formulas and their derivatives, as people write them: what cancels in one may not in the other.
FORMULAS: dict[str, tuple[Formula, Formula]] = {
    "gelu": (
        lambda x: 0.5 * x * (1 + torch.erf(x / 2**0.5)),
        lambda x: 0.5 * (1 + torch.erf(x / 2**0.5)) + x * torch.exp(-x * x / 2) / (2 * torch.pi) ** 0.5,
    ),
    "log(1 + x²)": (lambda x: torch.log(1 + x * x), lambda x: 2 * x / (1 + x * x)),
    "1 − cos": (lambda x: 1 - torch.cos(x), torch.sin),
    "x − tanh": (lambda x: x - torch.tanh(x), lambda x: torch.tanh(x) ** 2),
    "log(1 + eˣ)": (lambda x: torch.log(1 + torch.exp(x)), torch.sigmoid),
    "√(1 + x²) − 1": (lambda x: torch.sqrt(1 + x * x) - 1, lambda x: x / torch.sqrt(1 + x * x)),
    "elu": (lambda x: torch.where(x > 0, x, torch.exp(x) - 1), lambda x: torch.where(x > 0, 1.0, torch.exp(x))),
    "sin + 100": (lambda x: torch.sin(3 * x) + 100, lambda x: 3 * torch.cos(3 * x)),
    "log cosh": (lambda x: torch.log(torch.cosh(x)), torch.tanh),
    "|x|": (torch.abs, torch.sign),
}


class Rounded(torch.autograd.Function):
    """A formula ``inside`` a dtype, and ``factor`` times its derivative, in float32."""

    @staticmethod
    def forward(ctx, x, formula, factor, inside=torch.float32):
        ctx.save_for_backward(x)
        ctx.formula, ctx.factor = formula, factor
        return torch.empty_like(x).copy_(FORMULAS[formula][0](x.to(inside)))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        slope = FORMULAS[ctx.formula][1](x.float())
        return torch.empty_like(x).copy_(ctx.factor * grad_output.float() * slope), None, None, None
