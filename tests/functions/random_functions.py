"""Functions drawn at random: compositions, sums and products of 20 primitives, in torch and exactly, in mpmath."""

import operator
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import torch

Torch = Callable[[torch.Tensor], torch.Tensor]
Exact = Callable[[Any], Any]

PRIMITIVES: dict[str, tuple[Torch, Exact]] = {
    "sin": (torch.sin, mpmath.sin),
    "cos": (torch.cos, mpmath.cos),
    "tanh": (torch.tanh, mpmath.tanh),
    "exp": (torch.exp, mpmath.exp),
    "sigmoid": (torch.sigmoid, lambda x: 1 / (1 + mpmath.exp(-x))),
    "softplus": (lambda x: torch.logaddexp(x, 0 * x), lambda x: mpmath.log(1 + mpmath.exp(x))),
    "atan": (torch.atan, mpmath.atan),
    "erf": (torch.erf, mpmath.erf),
    "asinh": (torch.asinh, mpmath.asinh),
    "square": (lambda x: x * x, lambda x: x * x),
    "cube": (lambda x: x**3, lambda x: x**3),
    "root": (lambda x: torch.sqrt(1 + x * x), lambda x: mpmath.sqrt(1 + x * x)),
    "bell": (lambda x: 1 / (1 + x * x), lambda x: 1 / (1 + x * x)),
    "log": (lambda x: torch.log(1 + x * x), lambda x: mpmath.log(1 + x * x)),
    "abs": (torch.abs, abs),
    "relu": (torch.relu, lambda x: max(x, mpmath.mpf(0))),
    "leaky": (lambda x: torch.where(x > 0, x, 0.3 * x), lambda x: x if x > 0 else mpmath.mpf(0.3) * x),
    "clamp": (lambda x: x.clamp(-1, 1), lambda x: max(min(x, mpmath.mpf(1)), mpmath.mpf(-1))),
    "step": (lambda x: (x > 0).to(x.dtype), lambda x: mpmath.mpf(x > 0)),
    "floor": (torch.floor, mpmath.floor),
}
JUMPS = {"step", "floor"}


@dataclass(frozen=True)
class RandomFunction:
    """A function, what it is made of, and itself with exact numbers."""

    name: str
    value: Torch
    exact: Exact


def random_function(seed: int, jumps: bool = True) -> RandomFunction:
    """The function of this number: f(a g(b x + c) + d), or a sum or product of two of those."""
    draw = random.Random(seed)
    one, other = (_composition(draw, jumps) for _ in range(2))
    kind = draw.choice(("one", "sum", "product"))
    if kind == "one":
        return one
    sign, joined = ("+", operator.add) if kind == "sum" else ("*", operator.mul)
    return RandomFunction(
        f"{one.name} {sign} {other.name}",
        lambda x: joined(one.value(x), other.value(x)),
        lambda x: joined(one.exact(x), other.exact(x)),
    )


def _composition(draw: random.Random, jumps: bool) -> RandomFunction:
    names = [name for name in PRIMITIVES if jumps or name not in JUMPS]
    outer, inner = draw.choice(names), draw.choice(names)
    a, b = (draw.choice((-1, 1)) * draw.uniform(0.3, 2) for _ in range(2))
    c, d = (draw.uniform(-1, 1) for _ in range(2))
    (f, exact_f), (g, exact_g) = PRIMITIVES[outer], PRIMITIVES[inner]

    def exact(x: Any) -> Any:
        return exact_f(mpmath.mpf(a) * exact_g(mpmath.mpf(b) * x + mpmath.mpf(c)) + mpmath.mpf(d))

    name = f"{outer}({a:.3g} {inner}({b:.3g} x + {c:.3g}) + {d:.3g})"
    return RandomFunction(name, lambda x: f(a * g(b * x + c) + d), exact)
