"""Each operation encloses what it computes: random boxes, and random points in them, by mpmath in forty digits."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import mpmath as mp
import pytest
import torch
from flint import arb
from support.sections import section, written

from gradloupe.server.proof.call import Box, Enclosed, enclose, lanes_of, precision
from gradloupe.server.proof.enclosure import head

F = torch.nn.functional
BITS, AT_ONCE, POINTS = 128, 50, 1
SAMPLE, ALL = 100, 10_000  # boxes of each operation, on each push and nightly
DIGITS = mp.mpf(10) ** -30  # what mpmath may be off by, relative


@dataclass(frozen=True)
class Known:
    """An operation of torch, the same by mpmath, and the range of its boxes."""

    torch: Callable[[torch.Tensor], torch.Tensor]
    exact: Callable[[Any], Any]
    low: float = -6.0
    high: float = 6.0


def sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def ndtr(x: Any, root_of_half: Any = None) -> Any:
    return mp.erfc(-x * (root_of_half or mp.sqrt(mp.mpf(1) / 2))) / 2


OPERATIONS: dict[str, Known] = {
    "exp": Known(torch.exp, mp.exp),
    "exp2": Known(torch.exp2, lambda x: mp.mpf(2) ** x),
    "expm1": Known(torch.expm1, mp.expm1),
    "log": Known(torch.log, mp.log, 1e-3, 20),
    "log2": Known(torch.log2, lambda x: mp.log(x) / mp.log(2), 1e-3, 20),
    "log10": Known(torch.log10, mp.log10, 1e-3, 20),
    "log1p": Known(torch.log1p, mp.log1p, -0.99, 20),
    "sqrt": Known(torch.sqrt, mp.sqrt, 1e-3, 20),
    "rsqrt": Known(torch.rsqrt, lambda x: 1 / mp.sqrt(x), 1e-3, 20),
    "reciprocal": Known(torch.reciprocal, lambda x: 1 / x, 1e-3, 20),
    "sin": Known(torch.sin, mp.sin),
    "cos": Known(torch.cos, mp.cos),
    "tan": Known(torch.tan, mp.tan, -1.5, 1.5),
    "asin": Known(torch.asin, mp.asin, -0.99, 0.99),
    "acos": Known(torch.acos, mp.acos, -0.99, 0.99),
    "atan": Known(torch.atan, mp.atan),
    "sinh": Known(torch.sinh, mp.sinh),
    "cosh": Known(torch.cosh, mp.cosh),
    "tanh": Known(torch.tanh, mp.tanh),
    "asinh": Known(torch.asinh, mp.asinh),
    "acosh": Known(torch.acosh, mp.acosh, 1.01, 20),
    "atanh": Known(torch.atanh, mp.atanh, -0.99, 0.99),
    "sigmoid": Known(torch.sigmoid, sigmoid),
    "silu": Known(F.silu, lambda x: x * sigmoid(x)),
    "mish": Known(F.mish, lambda x: x * mp.tanh(mp.log(1 + mp.exp(x)))),
    "logsigmoid": Known(F.logsigmoid, lambda x: -mp.log(1 + mp.exp(-x))),
    "softplus": Known(F.softplus, lambda x: mp.log(1 + mp.exp(x)) if x <= 20 else x, -30, 30),
    "erf": Known(torch.erf, mp.erf),
    "erfc": Known(torch.erfc, mp.erfc),
    "erfcx": Known(torch.special.erfcx, lambda x: mp.exp(x * x) * mp.erfc(x), -3, 6),
    "ndtr": Known(torch.special.ndtr, lambda x: ndtr(x, mp.mpf(math.sqrt(0.5)))),  # torch's constant is a double
    "log_ndtr": Known(torch.special.log_ndtr, lambda x: mp.log(ndtr(x))),
    "gelu": Known(F.gelu, lambda x: x * ndtr(x, mp.mpf(math.sqrt(0.5)))),
    "entr": Known(torch.special.entr, lambda x: -x * mp.log(x), 1e-3, 20),
    "lgamma": Known(torch.lgamma, mp.loggamma, 1e-2, 20),
    "digamma": Known(torch.digamma, mp.digamma, 1e-2, 20),
    "x³": Known(lambda x: x**3, lambda x: x**3),
    "x⁻²": Known(lambda x: x**-2, lambda x: x**-2, 1e-2, 6),
    "x^0.7": Known(lambda x: x**0.7, lambda x: x ** mp.mpf(0.7), 1e-2, 6),
    "3^x": Known(lambda x: 3.0**x, lambda x: mp.mpf(3) ** x),
    "x^x": Known(lambda x: x**x, lambda x: x**x, 1e-2, 6),
    "abs": Known(torch.abs, abs),
    "sign": Known(torch.sign, mp.sign),
    "relu": Known(torch.relu, lambda x: max(x, mp.mpf(0))),
    "clamp": Known(lambda x: x.clamp(-1, 2), lambda x: min(max(x, mp.mpf(-1)), mp.mpf(2))),
    "leaky_relu": Known(lambda x: F.leaky_relu(x, 0.25), lambda x: x if x > 0 else x / 4),
    "elu": Known(F.elu, lambda x: x if x > 0 else mp.expm1(x)),
    "hardswish": Known(F.hardswish, lambda x: x * min(max(x + 3, mp.mpf(0)), mp.mpf(6)) / 6),
    "softshrink": Known(F.softshrink, lambda x: mp.sign(x) * max(abs(x) - mp.mpf(0.5), mp.mpf(0))),
    "floor": Known(torch.floor, mp.floor),
    "ceil": Known(torch.ceil, mp.ceil),
    "trunc": Known(torch.trunc, lambda x: mp.floor(x) if x >= 0 else mp.ceil(x)),
    "round": Known(torch.round, mp.nint),
    "frac": Known(torch.frac, lambda x: x - (mp.floor(x) if x >= 0 else mp.ceil(x))),
    "remainder": Known(lambda x: x % 1.5, lambda x: x - 1.5 * mp.floor(x / mp.mpf(1.5))),
    "where": Known(lambda x: torch.where(x > 1, x * x, -x), lambda x: x * x if x > 1 else -x),
    "mask": Known(lambda x: x * ((x > -1) & ~(x >= 2)), lambda x: x if -1 < x < 2 else mp.mpf(0)),
    "softmax": Known(
        lambda x: torch.cat((x, x * 0 + 1, -x)).softmax(0)[:1], lambda x: mp.exp(x) / (mp.exp(x) + mp.e + mp.exp(-x))
    ),
    "norm": Known(lambda x: torch.cat((x, x + 1)).norm().reshape(1), lambda x: mp.sqrt(x * x + (x + 1) ** 2)),
    "largest": Known(lambda x: torch.cat((x, 1 - x)).amax(0, keepdim=True), lambda x: max(x, 1 - x)),
    "matmul": Known(lambda x: torch.outer(x, x) @ x, lambda x: x**3),
}


def boxes_of(known: Known, count: int, seed: int) -> list[Box]:
    """Boxes of all widths, from a point to the whole range."""
    random, found = Random(seed), []
    for _ in range(count):
        start = random.uniform(known.low, known.high)
        start = float(round(start)) if random.random() < 0.1 and known.low < round(start) else start
        width = (known.high - start) * 10 ** random.uniform(-12, 0) * (random.random() < 0.95)
        found.append((start, min(known.high, start + width)))
    return found


def enclosed(known: Known, boxes: list[Box], tight: bool) -> Enclosed:
    return enclose(section(written(known.torch, torch.ones_like)), None, lanes_of(boxes, tight), 1.0)


def outside(ball: arb, exact: Any) -> bool:
    """Whether a ball does not contain a number of mpmath, which is off by a little."""
    if not ball.is_finite():
        return False
    low, high = (mp.mpf(str(end.str(60, radius=False))) for end in (ball.lower(), ball.upper()))
    slack = DIGITS * (1 + abs(exact))
    return not low - slack <= exact <= high + slack


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_encloses_its_values(name: str) -> None:
    check_values(OPERATIONS[name], SAMPLE)


@pytest.mark.nightly
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_encloses_its_values_in_ten_thousand_boxes(name: str) -> None:
    check_values(OPERATIONS[name], ALL)


def check_values(known: Known, count: int) -> None:
    random, finite = Random(count), 0
    with mp.workdps(40):
        for first in range(0, count, AT_ONCE):
            boxes = boxes_of(known, AT_ONCE, first)
            with precision(BITS):
                found = enclosed(known, boxes, tight=first % (2 * AT_ONCE) > 0)
            for lane, (start, stop) in enumerate(boxes):
                ball = head(found.curve.values[lane])
                finite += bool(ball.is_finite())
                for _ in range(POINTS):
                    x = min(stop, start + (stop - start) * random.random())
                    assert not outside(ball, known.exact(mp.mpf(x))), (x, start, stop)
                middle = start / 2 + stop / 2
                assert not outside(head(found.curve.values[lane + AT_ONCE]), known.exact(mp.mpf(middle))), middle
    assert finite > count / 2


DERIVATIVES: dict[str, tuple[str, Callable[[torch.Tensor], torch.Tensor]]] = {
    "exp": ("exp", torch.exp),
    "log": ("1/x", torch.reciprocal),
    "log1p": ("1/(1 + x)", lambda x: 1 / (1 + x)),
    "sqrt": ("1/2√x", lambda x: 0.5 * torch.rsqrt(x)),
    "sin": ("cos", torch.cos),
    "cos": ("−sin", lambda x: -torch.sin(x)),
    "tan": ("1 + tan²", lambda x: 1 + torch.tan(x) ** 2),
    "asin": ("1/√(1 − x²)", lambda x: torch.rsqrt(1 - x * x)),
    "atan": ("1/(1 + x²)", lambda x: 1 / (1 + x * x)),
    "sinh": ("cosh", torch.cosh),
    "cosh": ("sinh", torch.sinh),
    "tanh": ("1 − tanh²", lambda x: 1 - torch.tanh(x) ** 2),
    "asinh": ("1/√(1 + x²)", lambda x: torch.rsqrt(1 + x * x)),
    "acosh": ("1/√(x² − 1)", lambda x: torch.rsqrt(x * x - 1)),
    "atanh": ("1/(1 − x²)", lambda x: 1 / (1 - x * x)),
    "sigmoid": ("σ(1 − σ)", lambda x: torch.sigmoid(x) * torch.sigmoid(-x)),
    "erf": ("2/√π · exp(−x²)", lambda x: torch.exp(-x * x) * (4 / torch.acos(x * 0 - 1)).sqrt()),
    "erfc": ("−2/√π · exp(−x²)", lambda x: -torch.exp(-x * x) * (4 / torch.acos(x * 0 - 1)).sqrt()),
    "lgamma": ("ψ", torch.digamma),
    "x^0.7": ("0.7 x^−0.3", lambda x: 0.7 * torch.exp((x * 0 + 0.7 - 1) * torch.log(x))),
    "x^x": ("x^x (1 + log x)", lambda x: x**x * (1 + torch.log(x))),
    "abs": ("sign", torch.sign),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_each_series_is_the_derivative_of_the_other(name: str) -> None:
    known, (_, derivative) = OPERATIONS[name], DERIVATIVES[name]
    boxes = boxes_of(known, AT_ONCE, 1)
    with precision(BITS):
        function = enclosed(known, boxes, tight=False).curve.values
        slope = enclosed(Known(derivative, known.exact), boxes, tight=False).curve.values
        for one, other in zip(function, slope, strict=True):
            if isinstance(one, type(other)) and not isinstance(one, arb):
                for k in range(12):
                    difference = one[k + 1] * (k + 1) - other[k]
                    assert not difference.is_finite() or difference.contains(0), (name, k)
