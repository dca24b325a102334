"""Random sums of functions with right derivatives, and the ranges, counts and dtypes in which they are looked at."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import torch
from support.sections import op_of

from gradloupe.ops import Input, Op
from gradloupe.server.numerics.tolerance import tolerance_for

Curve = Callable[[torch.Tensor], torch.Tensor]

# So much clearer than tolerance and rounding is what shows; so many places a cell, of which a quarter shows; in parts.
_CLEAR, _DENSE, _PARTS = 4.0, 20, 20
COUNTS = (137, 401, 1001)
DTYPES = (torch.float64, torch.float32)
_TERMS: dict[str, Callable[[float, float], Curve]] = {
    "sin": lambda b, c: lambda x: torch.sin(b * x + c),
    "tanh": lambda b, c: lambda x: torch.tanh(b * (x - c)),
    "Gauss": lambda b, c: lambda x: torch.exp(-((b * (x - c)) ** 2)),
    "|x − c|": lambda b, c: lambda x: (x - c).abs(),
    "floor": lambda b, c: lambda x: torch.floor(b / 10 * x + c),
    "x³": lambda b, c: lambda x: x**3,
    "chirp": lambda b, c: lambda x: torch.sin(b * x * x),
    "softplus": lambda b, c: lambda x: torch.nn.functional.softplus(b * (x - c)),
    "triangle wave": lambda b, c: lambda x: torch.remainder(x, 1 / b).sub(0.5 / b).abs(),
    "float32 inside": lambda b, c: lambda x: torch.sin(b / 10 * (x - c).float()).to(x.dtype),
}
_JUMPLESS = _TERMS | {"floor": lambda b, c: lambda x: 0 * x}
_EXACT = _JUMPLESS | {"float32 inside": lambda b, c: lambda x: torch.sin(b / 10 * (x - c))}


class Differentiated(torch.autograd.Function):
    """A curve whose backward is autograd's, times a factor that may depend on x."""

    @staticmethod
    def forward(ctx, x, curve, factor):
        ctx.save_for_backward(x)
        ctx.curve, ctx.factor = curve, factor
        return curve(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            again = x.detach().requires_grad_()
            (gradient,) = torch.autograd.grad(ctx.curve(again), again, grad_output)
        return gradient * ctx.factor(x), None, None


@dataclass(frozen=True)
class RandomCurve:
    """A curve that is put together of one to three terms, and how it is looked at.

    ``jumpless`` is the curve without its staircases, ``exact`` that with nothing in float32 inside.
    """

    name: str
    curve: Curve
    jumpless: Curve
    exact: Curve
    start: float
    stop: float
    count: int
    dtype: torch.dtype
    grad_output: float = 1.0

    def op(self, factor: Curve = torch.ones_like) -> Op:
        """The curve as an op whose backward is ``factor`` times the derivative."""
        return op_of(lambda x: Differentiated.apply(x, self.curve, factor), Input("x", domain=(self.start, self.stop)))

    def shows(self, factor: Curve) -> bool:
        """Whether what the factor changes can be seen by the closed form, in one of the parts of the range.

        There, over a quarter of a cell, it is beyond the tolerance and beyond what a right backward loses in the dtype;
        and what it adds up to between two places is beyond what forward loses.
        """
        x = torch.linspace(self.start, self.stop, _DENSE * self.count, dtype=torch.float64).to(self.dtype)
        precise, slopes = x.double(), _slopes(self.exact, x.double())
        change, steep = (factor(precise) - 1).abs(), slopes.abs()
        lost = (_slopes(self.curve, x) - slopes).abs() + tolerance_for(float(steep.max()), self.dtype).margin(steep)
        beyond = (change * steep > _CLEAR * _widest(lost)).double()
        beyond = -_widest(-beyond) > 0  # not at a few places alone
        height, rounding = self.exact(precise), torch.finfo(self.dtype).eps * self.curve(x).abs()
        noise = (self.jumpless(x) - height).abs() + rounding
        for part in torch.arange(x.numel()).chunk(_PARTS):
            here = part[change[part] > 0]
            if beyond[here].any():
                rise = change[here].max() * (height[here].max() - height[here].min())
                if rise > _CLEAR * noise[here].max():
                    return True
        return False

    def half_a_cell(self) -> Curve:
        """The factor 1.5 on half a cell of the grid near the middle, between two of its points; else 1."""
        cell = (self.stop - self.start) / (self.count - 1)
        low = self.start + cell * (self.count // 2 + 0.25)
        return lambda x: torch.where((x > low) & (x < low + cell / 2), 1.5, 1.0).to(x.dtype)


def _slopes(curve: Curve, x: torch.Tensor) -> torch.Tensor:
    x = x.detach().requires_grad_()
    return torch.autograd.grad(curve(x).sum(), x)[0].double()


def _widest(values: torch.Tensor) -> torch.Tensor:
    """The largest of five neighbours each."""
    return torch.nn.functional.max_pool1d(values[None], _DENSE // 4, 1, _DENSE // 8)[0]


def random_sum(seed: int) -> RandomCurve:
    """The sum of this number: its terms vary as fast as the range is short, or as the numbers are large."""
    random = Random(seed)
    width = 10 ** random.uniform(-3, 4)
    start = random.choice((-0.5 * width, random.uniform(-1, 0) * width, random.uniform(-4, 4)))
    unit = random.choice((1.0, width / 8))
    terms, words = [], []
    for _ in range(random.randint(1, 3)):
        name = random.choice(tuple(_TERMS))
        height, speed = 10 ** random.uniform(-2, 2), 10 ** random.uniform(-1, 3.3) / unit
        place = start + width * random.uniform(0.05, 0.95)
        terms.append((height, name, speed, place))
        words.append(f"{height!r} {name}({speed!r}, {place!r})")

    def summed(made: dict[str, Callable[[float, float], Curve]]) -> Curve:
        parts = [(height, made[name](speed, place)) for height, name, speed, place in terms]
        return lambda x: sum((height * part(x) for height, part in parts), torch.zeros_like(x))

    return RandomCurve(
        " + ".join(words),
        summed(_TERMS),
        summed(_JUMPLESS),
        summed(_EXACT),
        start,
        start + width,
        COUNTS[seed % 3],
        DTYPES[seed // 3 % 2],
    )
