"""Right Functions where little is left of them: in their tails, and where what they compute with cancels."""

from collections.abc import Callable

import torch

F = torch.nn.functional
Function = Callable[[torch.Tensor], torch.Tensor]
Range = tuple[float, float]


def normal_cdf(x: torch.Tensor) -> torch.Tensor:
    """The normal distribution function as it stands in many an activation; on the far left 1 + erf has few digits."""
    return 0.5 * (1 + torch.erf(x / 2**0.5))


FAINT: dict[str, tuple[Function, tuple[Range, ...]]] = {
    "gelu": (F.gelu, ((-9.0, -5.0), (-8.0, -6.0))),
    "gelu by tanh": (lambda x: F.gelu(x, approximate="tanh"), ((-9.0, -5.0), (-6.0, -4.0))),
    "silu": (F.silu, ((-60.0, -30.0), (-40.0, -20.0))),
    "mish": (F.mish, ((-50.0, -30.0), (-40.0, -20.0))),
    "elu": (F.elu, ((-40.0, -10.0), (-37.0, -33.0))),
    "tanh": (torch.tanh, ((10.0, 20.0), (5.0, 18.0))),
    "sigmoid": (torch.sigmoid, ((20.0, 40.0), (30.0, 37.0))),
    "erf": (torch.erf, ((3.0, 6.0), (5.0, 7.0))),
    "atan": (torch.atan, ((1e3, 1e4), (1e6, 1e7))),
    "normal cdf": (normal_cdf, ((-9.0, -5.0), (-8.0, -6.0))),
    "1 − sigmoid": (lambda x: 1 - torch.sigmoid(x), ((20.0, 40.0), (30.0, 34.0))),
    "1 − tanh": (lambda x: 1 - torch.tanh(x), ((10.0, 20.0), (14.0, 16.0))),
    "1 − tanh²": (lambda x: 1 - torch.tanh(x) ** 2, ((10.0, 20.0), (14.0, 16.0))),
    "1 − cos": (lambda x: 1 - torch.cos(x), ((-1e-3, 1e-3), (-1e-5, 1e-5))),
    "√(1 + x²) − 1": (lambda x: torch.sqrt(1 + x * x) - 1, ((-1e-3, 1e-3), (-1e-5, 1e-5))),
    "log(1 + x)": (lambda x: torch.log(1 + x), ((-1e-6, 1e-6), (-1e-10, 1e-10))),
    "log(1 + eˣ)": (lambda x: torch.log(1 + torch.exp(x)), ((-40.0, -20.0), (-37.0, -33.0))),
    "eˣ − 1": (lambda x: torch.exp(x) - 1, ((-1e-6, 1e-6), (-1e-9, 1e-9))),
    "x + 1000 − 1000": (lambda x: (x + 1e3) - 1e3, ((-1e-3, 1e-3), (-1e-6, 1e-6))),
    "sin, where x has few places": (torch.sin, ((1e6, 1e6 + 6), (1e12, 1e12 + 6))),
    "x², nearly nothing": (torch.square, ((1e-160, 2e-160), (-1e-20, 1e-20))),
    "sin, nearly nothing": (lambda x: 1e-300 * torch.sin(x), ((-3.0, 3.0), (-1e-3, 1e-3))),
    "sin, enormous": (lambda x: 1e300 * torch.sin(x), ((-3.0, 3.0), (-1e-3, 1e-3))),
}
