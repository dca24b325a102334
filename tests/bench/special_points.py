"""Whether kinks, jumps and edges are told apart, and whether a correct kinked Function is ever called wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import pi

import numpy as np
import torch
from functions.smooth import on_tensors
from peer_derivatives import Array
from report import Report, Table, Target
from support.sections import look, op_of

from gradloupe.server.numerics.differentiation.finite_differences import PointKind, differentiate
from gradloupe.server.numerics.singularities.special_points import SpecialPoint, special_points

Function = Callable[[torch.Tensor], torch.Tensor]
INF = float("inf")


@dataclass(frozen=True)
class KnownPoint:
    """A special point, its kind, and the slopes of its two sides (None beyond the edge of the domain, or at a pole)."""

    x: float
    kind: int
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
class SpecialFunction:
    """A function, where to look at it, and its special points."""

    name: str
    function: Function
    points: tuple[KnownPoint, ...] = ()
    start: float = -3.0
    stop: float = 3.0


def kinks(*points: tuple[float, float, float]) -> tuple[KnownPoint, ...]:
    """Kinks and cusps, each a place with the slopes on its left and its right."""
    return tuple(KnownPoint(x, PointKind.KINK, left, right) for x, left, right in points)


def jumps(*points: tuple[float, float, float]) -> tuple[KnownPoint, ...]:
    """Jumps; the side that the value at the place itself does not belong to has an infinite slope."""
    return tuple(KnownPoint(x, PointKind.JUMP, left, right) for x, left, right in points)


def poles(*places: float) -> tuple[KnownPoint, ...]:
    """Poles: no value, and no slope."""
    return tuple(KnownPoint(x, PointKind.NONFINITE, None, None) for x in places)


def _sine_of_inverse(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x == 0, 0.0, x * torch.sin(1 / x))


F = torch.nn.functional
SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
FUNCTIONS = (
    SpecialFunction("relu", torch.relu, kinks((0, 0, 1))),
    SpecialFunction("abs", torch.abs, kinks((0, -1, 1))),
    SpecialFunction("clamp(-1, 1)", lambda x: x.clamp(-1, 1), kinks((-1, 0, 1), (1, 1, 0))),
    SpecialFunction("clamp(0, 2)", lambda x: x.clamp(0, 2), kinks((0, 0, 1), (2, 1, 0)), -1.0),
    SpecialFunction("max(x, x²)", lambda x: torch.maximum(x, x * x), kinks((0, 0, 1), (1, 1, 2))),
    SpecialFunction("min(x², 1)", lambda x: (x * x).clamp(max=1), kinks((-1, 0, -2), (1, 2, 0))),
    SpecialFunction("|x² − 1|", lambda x: (x * x - 1).abs(), kinks((-1, -2, 2), (1, -2, 2))),
    SpecialFunction("softshrink", F.softshrink, kinks((-0.5, 1, 0), (0.5, 0, 1))),
    SpecialFunction("leaky relu", F.leaky_relu, kinks((0, 0.01, 1))),
    SpecialFunction("relu6", F.relu6, kinks((0, 0, 1), (6, 1, 0)), -1.0, 8.0),
    SpecialFunction("relu6(x + 3)/6", lambda x: F.relu6(x + 3) / 6, kinks((-3, 0, 1 / 6), (3, 1 / 6, 0)), -5.0, 5.0),
    SpecialFunction("hardswish", F.hardswish, kinks((-3, 0, -0.5), (3, 1.5, 1)), -5.0, 5.0),
    SpecialFunction("selu", F.selu, kinks((0, SELU_ALPHA * SELU_SCALE, SELU_SCALE))),
    SpecialFunction("|x − 0.1|", lambda x: (x - 0.1).abs(), kinks((0.1, -1, 1))),
    SpecialFunction("1000 + |x|", lambda x: 1000 + x.abs(), kinks((0, -1, 1))),
    SpecialFunction("x + relu(x)/1000", lambda x: x + torch.relu(x) / 1000, kinks((0, 1, 1.001))),
    SpecialFunction("sin x + |x|/10⁴", lambda x: torch.sin(x) + x.abs() / 1e4, kinks((0, 1 - 1e-4, 1 + 1e-4))),
    SpecialFunction("|sin x|", lambda x: torch.sin(x).abs(), kinks((0, -1, 1))),
    SpecialFunction(
        "asin(sin x)",
        lambda x: torch.where(x.abs() < pi / 2, x, x.sign() * (pi - x.abs())),
        kinks((-pi / 2, -1, 1), (pi / 2, 1, -1)),
    ),
    SpecialFunction(
        "|x| + |x − 0.2| + |x − 0.25|",
        lambda x: x.abs() + (x - 0.2).abs() + (x - 0.25).abs(),
        kinks((0, -3, -1), (0.2, -1, 1), (0.25, 1, 3)),
    ),
    SpecialFunction("√|x|", lambda x: x.abs().sqrt(), kinks((0, -INF, INF))),
    SpecialFunction("√|x − 0.1|", lambda x: (x - 0.1).abs().sqrt(), kinks((0.1, -INF, INF))),
    SpecialFunction("∛x", lambda x: x.sign() * x.abs() ** (1 / 3), kinks((0, INF, INF))),
    SpecialFunction("|x|^⅔", lambda x: x.abs() ** (2 / 3), kinks((0, -INF, INF))),
    SpecialFunction("relu + √relu", lambda x: torch.relu(x) + torch.relu(x) ** 0.5, kinks((0, 0, INF))),
    SpecialFunction("x ≥ 0", lambda x: (x >= 0).double(), jumps((0, INF, 0))),
    SpecialFunction("sign", torch.sign, jumps((0, INF, INF))),
    SpecialFunction("floor", torch.floor, jumps(*((n, INF, 0) for n in range(-2, 3))), -2.7, 2.7),
    SpecialFunction("ceil", torch.ceil, jumps(*((n, 0, INF) for n in range(-2, 3))), -2.7, 2.7),
    SpecialFunction("hardshrink", F.hardshrink, jumps((-0.5, INF, 0), (0.5, 0, INF))),
    SpecialFunction("threshold(1, −2)", lambda x: F.threshold(x, 1.0, -2.0), jumps((1, 0, INF))),
    SpecialFunction("round", torch.round, jumps((-0.5, INF, 0), (0.5, 0, INF)), -1.0, 1.0),
    SpecialFunction("x + (x ≥ 0)/1000", lambda x: x + (x >= 0) / 1000, jumps((0, INF, 1))),
    SpecialFunction("sin x + (x ≥ 0)/10⁵", lambda x: torch.sin(x) + (x >= 0) / 1e5, jumps((0, INF, 1))),
    SpecialFunction(
        "x floor x",
        lambda x: x * torch.floor(x),
        (*jumps((-1, -INF, -1)), *kinks((0, -1, 0)), *jumps((1, INF, 1))),
        -1.7,
        1.7,
    ),
    SpecialFunction("1/x", torch.reciprocal, poles(0)),
    SpecialFunction("1/(x − 1)²", lambda x: 1 / (x - 1) ** 2, poles(1)),
    SpecialFunction("1/√|x|", lambda x: x.abs().rsqrt(), poles(0)),
    SpecialFunction("log|x|", lambda x: x.abs().log(), poles(0)),
    SpecialFunction("x/(x² − 1)", lambda x: x / (x * x - 1), poles(-1, 1)),
    SpecialFunction("x^1.5 of x ≥ 0", lambda x: x**1.5, (KnownPoint(0, PointKind.EDGE, None, 0),), 0.0, 4.0),
    SpecialFunction("√x", torch.sqrt, (KnownPoint(0, PointKind.EDGE, None, INF),), 0.0, 4.0),
    SpecialFunction("acos(x − 1)", lambda x: torch.acos(x - 1), (KnownPoint(0, PointKind.EDGE, None, -INF),), 0.0, 1.9),
    SpecialFunction("x|x|, smooth", lambda x: x * x.abs()),
    SpecialFunction("elu, smooth", F.elu),
    SpecialFunction("tanh 100x, smooth", lambda x: torch.tanh(100 * x)),
    SpecialFunction("x sin(1/x)", _sine_of_inverse),
)

COUNT = 1001
MIN_SPECIAL_POINTS = 60
KINKED = [each for each in FUNCTIONS if {point.special for point in each.points} in ({"kink"}, {"cusp"})]
TOLERANCE = 1e-9  # of a located special point from the known one, as a share of the range


def measure() -> Report:
    """The tables of special points."""
    torch.set_num_threads(1)
    points = sum(len(each.points) for each in FUNCTIONS)
    right, false, judged, misnamed = _on_points()
    found, extra, hidden, missed = _between_points()
    wrong, looks = _called_wrong()
    failed = sum(not _gradchecked(each) for each in KINKED)
    rows = [
        ("special points on a grid point, named with both slopes", f"{right} of {2 * points}", misnamed),
        ("ordinary points taken for special ones", f"{false} of {judged}", ""),
        (
            f"kinks, cusps, jumps and poles between grid points, located to {TOLERANCE:g} of the range and told apart",
            f"{found} of {hidden}",
            missed,
        ),
        ("… and found where there is none", str(extra), ""),
        ("correct kinked Functions called wrong", f"{wrong} of {looks} looks", ""),
        ("… rejected by gradcheck, kink on a point", f"{failed} of {len(KINKED)} Functions", ""),
    ]
    note = (
        f"{len(FUNCTIONS)} functions, {points} special points; each on an even and a jittered grid of {COUNT} points."
    )
    targets = [
        Target(
            f"all special points named right, at least {MIN_SPECIAL_POINTS}",
            f"{right} of {2 * points}",
            right == 2 * points and points >= MIN_SPECIAL_POINTS,
        ),
        Target("at most 3 false of some 41 000", f"{false} of {judged}", false <= 3),
        Target("all between the points located and told apart", f"{found} of {hidden}", found == hidden),
        Target("none found where there is none", str(extra), extra == 0),
        Target("a correct kinked Function is never called wrong", f"{wrong} of {looks}", wrong == 0),
    ]
    return Report([Table("Special points", ("what", "measured", "missed"), rows, note)], targets)


def _on_points() -> tuple[int, int, int, str]:
    """Special points named right, ordinary points named special, ordinary points, and the functions of the misnamed."""
    right = false = judged = 0
    misnamed = set()
    for each in FUNCTIONS:
        forward = on_tensors(each.function)
        for jitter in (0.0, 0.3):
            x = _grid(each, jitter)
            y = forward(x)
            found = differentiate(forward, x, y, each.stop - each.start)
            for point in each.points:
                row = int(np.flatnonzero(x == point.x)[0])
                sides = _agree(found.left[row], point.left) and _agree(found.right[row], point.right)
                good = sides and found.kind[row] == point.kind
                right += good
                if not good:
                    misnamed.add(each.name)
            ordinary = ~np.isin(x, [point.x for point in each.points]) & np.isfinite(y)
            judged += int(ordinary.sum())
            false += int((found.kind[ordinary] != PointKind.SMOOTH).sum())
    return right, false, judged, ", ".join(sorted(misnamed))


def _grid(each: SpecialFunction, jitter: float) -> Array:
    """1001 points, the nearest to every special point moved onto it."""
    cell = (each.stop - each.start) / COUNT
    x = np.linspace(each.start, each.stop, COUNT)
    x = np.sort(np.clip(x + np.random.default_rng(1).uniform(-jitter, jitter, COUNT) * cell, each.start, each.stop))
    for point in each.points:
        x[np.abs(x - point.x).argmin()] = point.x
    return x


def _agree(found: float, truth: float | None) -> bool:
    return truth is None or found == truth or abs(found - truth) <= 1e-4


def _between_points() -> tuple[int, int, int, str]:
    """Special points found and told apart, those found where there is none, all there are, and who missed some."""
    found = extra = hidden = 0
    missed = set()
    for each in FUNCTIONS:
        forward = on_tensors(each.function)
        wanted = [point for point in each.points if point.special]
        for x in _even_grids(each):
            with np.errstate(all="ignore"):
                special = special_points(forward, x, forward(x))
            hits = [_is_among(point, special, each) for point in wanted]
            found, hidden = found + sum(hits), hidden + len(hits)
            extra += len(special) - sum(hits)
            if not all(hits):
                missed.add(each.name)
    return found, extra, hidden, ", ".join(sorted(missed))


def _even_grids(each: SpecialFunction) -> list[Array]:
    shifts = np.random.default_rng(2).uniform(0, 0.1, 8)
    spans = [(each.start, each.stop), *((each.start - shift, each.stop + shift / 3) for shift in shifts)]
    spans = [span for span in spans if all(span[0] < point.x < span[1] for point in each.points)]
    return [np.linspace(start, stop, count) for start, stop in spans for count in (400, 401, 1000)]


def _is_among(point: KnownPoint, special: tuple[SpecialPoint, ...], each: SpecialFunction) -> bool:
    near = TOLERANCE * (each.stop - each.start)
    return any(place.kind == point.special and abs(place.x - point.x) <= near for place in special)


def _called_wrong() -> tuple[int, int]:
    """How often a kinked function with autograd's own gradient is said to differ, and how often it was looked at."""
    words = []
    for each in KINKED:
        for shift in (0.0, 0.0317, 0.1):
            for count in (101, 400, 601, 1000):
                for grad_output in (1.0, -2.5):
                    evaluation, verdict = look(op_of(each.function), each.start - shift, each.stop, count, grad_output)
                    # At a cusp on a point autograd itself returns NaN, and to say so is no false accusation.
                    if evaluation.analytical is not None and not np.isnan(evaluation.analytical).any():
                        words.append(verdict.word)
    return words.count("differs"), len(words)


def _gradchecked(each: SpecialFunction) -> bool:
    """What gradcheck says of the same function, on 51 points with the kinks among them."""
    places = [point.x for point in each.points]
    x = torch.tensor(np.unique(np.append(np.linspace(each.start, each.stop, 51), places))).requires_grad_()
    return torch.autograd.gradcheck(each.function, (x,), raise_exception=False)
