"""Random products and compositions with right derivatives, of terms that bend, jump and saturate."""

from math import prod
from random import Random

import torch

from .random_sums import Curve, RandomCurve

# The longer dtypes more often than the shorter ones.
_DTYPES = torch.float64, torch.float64, torch.float32, torch.float32, torch.float16, torch.bfloat16
_NEAR = 0.2, 0.7  # a series or 0 takes over here, where a formula over- or underflows, or its digits cancel


def _flat_at_zero(z: torch.Tensor) -> torch.Tensor:
    away, z = z.abs() > _NEAR[0], z.clamp(-30, 30)
    safe = torch.where(away, z, torch.ones_like(z))
    return torch.where(away, torch.exp(-1 / (safe * safe)), torch.zeros_like(z))


def _sine_over_x(z: torch.Tensor) -> torch.Tensor:
    away, square = z.abs() > _NEAR[1], z.clamp(-_NEAR[1], _NEAR[1]) ** 2
    safe = torch.where(away, z, torch.ones_like(z))
    series = 1 - square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72)))
    return torch.where(away, torch.sin(safe) / safe, series)


_TERMS: dict[str, Curve] = {
    "atan": torch.atan,
    "log(1 + x²)": lambda z: torch.log1p(z * z),
    "√(|x| + c)": lambda z: torch.sqrt(z.abs() + 0.01),
    "x·sigmoid(x)": torch.nn.functional.silu,
    "mish": torch.nn.functional.mish,
    "GELU": torch.nn.functional.gelu,
    "erf": torch.erf,
    "x²": lambda z: z * z,
    "line": lambda z: z,
    "cos": torch.cos,
    "|sin|": lambda z: torch.sin(z).abs(),
    "sin(x) / x": _sine_over_x,
    "exp(−1/x²)": _flat_at_zero,
    "modulo": lambda z: torch.remainder(z, 1.0),
    "clamp": lambda z: z.clamp(-1, 1),
    "maximum": lambda z: torch.maximum(z, 0.3 * z),
    "a small step": lambda z: torch.where(z > 0, z + 1e-3, z),
    "round to a grid": lambda z: torch.round(z * 8) / 8,
    "steep lines": lambda z: torch.logaddexp(3 * z, -20 * z),
    "a smooth join": lambda z: torch.where(z.abs() < 1, 0.5 * z * z, z.abs() - 0.5),
}


def random_composition(seed: int) -> RandomCurve:
    """The product or the composition of this number; some far from 0, in all dtypes, for all sizes of grad_output."""
    random = Random(seed)
    dtype = random.choice(_DTYPES)
    short = dtype.itemsize == torch.float16.itemsize
    width = 10 ** (random.uniform(-1, 1.5) if short else random.uniform(-3, 4))
    start = random.choice((-0.5 * width, random.uniform(-1, 0) * width, random.uniform(-4, 4)))
    if not short and random.random() < 1 / 8:
        start, width = round(random.choice((-1, 1)) * 10 ** random.uniform(2, 7)), max(width, 1.0)
    chosen = [random.choice(tuple(_TERMS)) for _ in range(random.randint(1, 3))]
    steepest = 1.0 if short else 2.2
    speeds = [10 ** random.uniform(-0.5, steepest) / width for _ in chosen]
    places = [start + width * random.uniform(0.05, 0.95) for _ in chosen]
    height, inner = 10 ** random.uniform(-2, 2), [10 ** random.uniform(-0.5, 0.8) for _ in chosen]
    product = random.random() < 0.5

    def curve(x: torch.Tensor) -> torch.Tensor:
        if product:
            terms = [_TERMS[name](b * (x - c)) for name, b, c in zip(chosen, speeds, places, strict=True)]
            return height * prod(terms[1:], start=terms[0])
        value = _TERMS[chosen[0]](speeds[0] * (x - places[0]))
        for name, times in zip(chosen[1:], inner[1:], strict=True):
            value = _TERMS[name](times * (value - 0.5))
        return height * value

    grad_output = random.choice((-1, 1)) * 10 ** random.uniform(-3, 0.5 if short else 3)
    name = f"{height!r} ({' · '.join(chosen) if product else ' → '.join(chosen)})"
    count = round(2 * 1000.0 ** random.random())
    return RandomCurve(name, curve, curve, curve, start, start + width, count, dtype, grad_output)
