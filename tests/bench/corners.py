"""Twenty-one functions with kinks, jumps and edges at known places, or with none that may be mistaken for one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from gradloupe.server.numerics.differences import Kind

Function = Callable[[torch.Tensor], torch.Tensor]
INF = float("inf")


@dataclass(frozen=True)
class Corner:
    """A special point, its kind, and the slopes of its two sides (None beyond the edge of the domain)."""

    x: float
    kind: Kind
    left: float | None
    right: float


@dataclass(frozen=True)
class Cornered:
    """A function, where to look at it, and its special points."""

    name: str
    function: Function
    corners: tuple[Corner, ...] = ()
    start: float = -3.0
    stop: float = 3.0


def kinks(*points: tuple[float, float, float]) -> tuple[Corner, ...]:
    """Kinks, each a place with the slopes on its left and its right."""
    return tuple(Corner(x, Kind.KINK, left, right) for x, left, right in points)


def jumps(*points: tuple[float, float, float]) -> tuple[Corner, ...]:
    """Jumps; the side that the value at the place itself does not belong to has an infinite slope."""
    return tuple(Corner(x, Kind.JUMP, left, right) for x, left, right in points)


def _sine_of_inverse(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x == 0, 0.0, x * torch.sin(1 / x))


F = torch.nn.functional
CORNERED = (
    Cornered("relu", torch.relu, kinks((0, 0, 1))),
    Cornered("abs", torch.abs, kinks((0, -1, 1))),
    Cornered("clamp(-1, 1)", lambda x: x.clamp(-1, 1), kinks((-1, 0, 1), (1, 1, 0))),
    Cornered("clamp(0, 2)", lambda x: x.clamp(0, 2), kinks((0, 0, 1), (2, 1, 0)), -1.0),
    Cornered("max(x, x²)", lambda x: torch.maximum(x, x * x), kinks((0, 0, 1), (1, 1, 2))),
    Cornered("softshrink", F.softshrink, kinks((-0.5, 1, 0), (0.5, 0, 1))),
    Cornered("|x − 0.1|", lambda x: (x - 0.1).abs(), kinks((0.1, -1, 1))),
    Cornered("1000 + |x|", lambda x: 1000 + x.abs(), kinks((0, -1, 1))),
    Cornered("x + relu(x)/1000", lambda x: x + torch.relu(x) / 1000, kinks((0, 1, 1.001))),
    Cornered("|sin x|", lambda x: torch.sin(x).abs(), kinks((0, -1, 1))),
    Cornered("√|x|", lambda x: x.abs().sqrt(), kinks((0, -INF, INF))),
    Cornered("∛x", lambda x: x.sign() * x.abs() ** (1 / 3), kinks((0, INF, INF))),
    Cornered("x ≥ 0", lambda x: (x >= 0).double(), jumps((0, INF, 0))),
    Cornered("sign", torch.sign, jumps((0, INF, INF))),
    Cornered("hardshrink", F.hardshrink, jumps((-0.5, INF, 0), (0.5, 0, INF))),
    Cornered("round", torch.round, jumps((-0.5, INF, 0), (0.5, 0, INF)), -1.0, 1.0),
    Cornered("x + (x ≥ 0)/1000", lambda x: x + (x >= 0) / 1000, jumps((0, INF, 1))),
    Cornered("x^1.5 of x ≥ 0", lambda x: x**1.5, (Corner(0, Kind.EDGE, None, 0),), 0.0, 4.0),
    Cornered("√x", torch.sqrt, (Corner(0, Kind.EDGE, None, INF),), 0.0, 4.0),
    Cornered("x|x|, smooth", lambda x: x * x.abs()),
    Cornered("x sin(1/x)", _sine_of_inverse),
)
