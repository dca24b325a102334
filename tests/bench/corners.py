"""Forty-seven functions with special points at known places, and with slopes known in closed form, or with none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import pi

import torch

from gradloupe.server.numerics.differentiation.finite_differences import PointKind

Function = Callable[[torch.Tensor], torch.Tensor]
INF = float("inf")


@dataclass(frozen=True)
class Corner:
    """A special point, its kind, and the slopes of its two sides (None beyond the edge of the domain, or at a pole)."""

    x: float
    kind: PointKind
    left: float | None
    right: float | None

    @property
    def special(self) -> str | None:
        """The kind of special point that it is between the grid points; None where it is none."""
        if self.kind in (PointKind.KINK, PointKind.EDGE):
            vertical = INF in (abs(self.left or 0), abs(self.right or 0))
            return "cusp" if vertical else "kink" if self.kind == PointKind.KINK else None
        return "jump" if self.kind == PointKind.JUMP else "pole"


@dataclass(frozen=True)
class Cornered:
    """A function, where to look at it, and its special points."""

    name: str
    function: Function
    corners: tuple[Corner, ...] = ()
    start: float = -3.0
    stop: float = 3.0


def kinks(*points: tuple[float, float, float]) -> tuple[Corner, ...]:
    """Kinks and cusps, each a place with the slopes on its left and its right."""
    return tuple(Corner(x, PointKind.KINK, left, right) for x, left, right in points)


def jumps(*points: tuple[float, float, float]) -> tuple[Corner, ...]:
    """Jumps; the side that the value at the place itself does not belong to has an infinite slope."""
    return tuple(Corner(x, PointKind.JUMP, left, right) for x, left, right in points)


def poles(*places: float) -> tuple[Corner, ...]:
    """Poles: no value, and no slope."""
    return tuple(Corner(x, PointKind.NONFINITE, None, None) for x in places)


def _sine_of_inverse(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x == 0, 0.0, x * torch.sin(1 / x))


F = torch.nn.functional
SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
CORNERED = (
    Cornered("relu", torch.relu, kinks((0, 0, 1))),
    Cornered("abs", torch.abs, kinks((0, -1, 1))),
    Cornered("clamp(-1, 1)", lambda x: x.clamp(-1, 1), kinks((-1, 0, 1), (1, 1, 0))),
    Cornered("clamp(0, 2)", lambda x: x.clamp(0, 2), kinks((0, 0, 1), (2, 1, 0)), -1.0),
    Cornered("max(x, x²)", lambda x: torch.maximum(x, x * x), kinks((0, 0, 1), (1, 1, 2))),
    Cornered("min(x², 1)", lambda x: (x * x).clamp(max=1), kinks((-1, 0, -2), (1, 2, 0))),
    Cornered("|x² − 1|", lambda x: (x * x - 1).abs(), kinks((-1, -2, 2), (1, -2, 2))),
    Cornered("softshrink", F.softshrink, kinks((-0.5, 1, 0), (0.5, 0, 1))),
    Cornered("leaky relu", F.leaky_relu, kinks((0, 0.01, 1))),
    Cornered("relu6", F.relu6, kinks((0, 0, 1), (6, 1, 0)), -1.0, 8.0),
    Cornered("relu6(x + 3)/6", lambda x: F.relu6(x + 3) / 6, kinks((-3, 0, 1 / 6), (3, 1 / 6, 0)), -5.0, 5.0),
    Cornered("hardswish", F.hardswish, kinks((-3, 0, -0.5), (3, 1.5, 1)), -5.0, 5.0),
    Cornered("selu", F.selu, kinks((0, SELU_ALPHA * SELU_SCALE, SELU_SCALE))),
    Cornered("|x − 0.1|", lambda x: (x - 0.1).abs(), kinks((0.1, -1, 1))),
    Cornered("1000 + |x|", lambda x: 1000 + x.abs(), kinks((0, -1, 1))),
    Cornered("x + relu(x)/1000", lambda x: x + torch.relu(x) / 1000, kinks((0, 1, 1.001))),
    Cornered("sin x + |x|/10⁴", lambda x: torch.sin(x) + x.abs() / 1e4, kinks((0, 1 - 1e-4, 1 + 1e-4))),
    Cornered("|sin x|", lambda x: torch.sin(x).abs(), kinks((0, -1, 1))),
    Cornered(
        "asin(sin x)",
        lambda x: torch.where(x.abs() < pi / 2, x, x.sign() * (pi - x.abs())),
        kinks((-pi / 2, -1, 1), (pi / 2, 1, -1)),
    ),
    Cornered(
        "|x| + |x − 0.2| + |x − 0.25|",
        lambda x: x.abs() + (x - 0.2).abs() + (x - 0.25).abs(),
        kinks((0, -3, -1), (0.2, -1, 1), (0.25, 1, 3)),
    ),
    Cornered("√|x|", lambda x: x.abs().sqrt(), kinks((0, -INF, INF))),
    Cornered("√|x − 0.1|", lambda x: (x - 0.1).abs().sqrt(), kinks((0.1, -INF, INF))),
    Cornered("∛x", lambda x: x.sign() * x.abs() ** (1 / 3), kinks((0, INF, INF))),
    Cornered("|x|^⅔", lambda x: x.abs() ** (2 / 3), kinks((0, -INF, INF))),
    Cornered("relu + √relu", lambda x: torch.relu(x) + torch.relu(x) ** 0.5, kinks((0, 0, INF))),
    Cornered("x ≥ 0", lambda x: (x >= 0).double(), jumps((0, INF, 0))),
    Cornered("sign", torch.sign, jumps((0, INF, INF))),
    Cornered("floor", torch.floor, jumps(*((n, INF, 0) for n in range(-2, 3))), -2.7, 2.7),
    Cornered("ceil", torch.ceil, jumps(*((n, 0, INF) for n in range(-2, 3))), -2.7, 2.7),
    Cornered("hardshrink", F.hardshrink, jumps((-0.5, INF, 0), (0.5, 0, INF))),
    Cornered("threshold(1, −2)", lambda x: F.threshold(x, 1.0, -2.0), jumps((1, 0, INF))),
    Cornered("round", torch.round, jumps((-0.5, INF, 0), (0.5, 0, INF)), -1.0, 1.0),
    Cornered("x + (x ≥ 0)/1000", lambda x: x + (x >= 0) / 1000, jumps((0, INF, 1))),
    Cornered("sin x + (x ≥ 0)/10⁵", lambda x: torch.sin(x) + (x >= 0) / 1e5, jumps((0, INF, 1))),
    Cornered(
        "x floor x",
        lambda x: x * torch.floor(x),
        (*jumps((-1, -INF, -1)), *kinks((0, -1, 0)), *jumps((1, INF, 1))),
        -1.7,
        1.7,
    ),
    Cornered("1/x", torch.reciprocal, poles(0)),
    Cornered("1/(x − 1)²", lambda x: 1 / (x - 1) ** 2, poles(1)),
    Cornered("1/√|x|", lambda x: x.abs().rsqrt(), poles(0)),
    Cornered("log|x|", lambda x: x.abs().log(), poles(0)),
    Cornered("x/(x² − 1)", lambda x: x / (x * x - 1), poles(-1, 1)),
    Cornered("x^1.5 of x ≥ 0", lambda x: x**1.5, (Corner(0, PointKind.EDGE, None, 0),), 0.0, 4.0),
    Cornered("√x", torch.sqrt, (Corner(0, PointKind.EDGE, None, INF),), 0.0, 4.0),
    Cornered("acos(x − 1)", lambda x: torch.acos(x - 1), (Corner(0, PointKind.EDGE, None, -INF),), 0.0, 1.9),
    Cornered("x|x|, smooth", lambda x: x * x.abs()),
    Cornered("elu, smooth", F.elu),
    Cornered("tanh 100x, smooth", lambda x: torch.tanh(100 * x)),
    Cornered("x sin(1/x)", _sine_of_inverse),
)
