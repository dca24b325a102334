"""Right Functions, as people write them: built-ins, activations, losses and what is done to vectors."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from support.sections import op_of

from gradloupe.ops import Input, Op

F = torch.nn.functional
S = torch.special

Range = tuple[float, float]
Function = Callable[..., Any]

FAR: Range = (-100.0, 100.0)
# Points of what is asked point by point.
FEW = 31


@dataclass(frozen=True)
class Innocent:
    """A right op, and where it is looked at: as one would first, from very near, and from far away."""

    op: Op
    wrt: str = ""
    of: str = ""
    near: Range = (0.3, 0.3001)
    far: Range = FAR
    count: int = 401

    @property
    def ranges(self) -> tuple[Range, ...]:
        """The three ranges."""
        swept = next(each for each in self.op.inputs if each.name == (self.wrt or self.op.inputs[0].name).split("[")[0])
        return swept.domain, self.near, self.far


def _of_one(function: Function, domain: Range = (-3.0, 3.0), near: float = 0.3, far: Range = FAR) -> Innocent:
    return Innocent(op_of(function, Input("x", domain=domain)), near=(near, near + 1e-4), far=far)


def _of_two(function: Function, value: float, domain: Range = (-3.0, 3.0), wrt: str = "") -> Innocent:
    """A Function of two tensors, the one that is held at ``value``."""
    return Innocent(op_of(function, Input("x", domain=domain, value=value), Input("y", value=value)), wrt)


def softplus(x: torch.Tensor) -> torch.Tensor:
    """Softplus as it is written where nothing may overflow."""
    return torch.where(x > 15, x, torch.log1p(torch.exp(x.clamp(max=15))))


def safe_sqrt(x: torch.Tensor) -> torch.Tensor:
    """The root where there is one, with the second where that keeps the gradient from being NaN."""
    inside = x > 0
    return torch.where(inside, torch.sqrt(torch.where(inside, x, 1.0)), 0.0)


def log_cosh(x: torch.Tensor) -> torch.Tensor:
    """The logarithm of the hyperbolic cosine, which does not overflow."""
    return x + F.softplus(-2 * x) - 0.6931471805599453


def rotated(x: torch.Tensor) -> torch.Tensor:
    """The first coordinate of a vector turned by an angle."""
    return torch.cos(x) * 0.7 - torch.sin(x) * 1.3


def horner(x: torch.Tensor) -> torch.Tensor:
    """A polynomial of degree 5."""
    return ((((0.2 * x - 1) * x + 0.5) * x + 3) * x - 1) * x + 2


def rosenbrock(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The banana valley."""
    return (1 - x) ** 2 + 100 * (y - x * x) ** 2


def spline(x: torch.Tensor) -> torch.Tensor:
    """A cubic B-spline: four polynomials that join smoothly."""
    a = x.abs()
    return torch.where(a < 1, 2 / 3 - a**2 + a**3 / 2, torch.where(a < 2, (2 - a) ** 3 / 6, 0.0))


def fixed_point(x: torch.Tensor) -> torch.Tensor:
    """The root y of y + y³ = x by ten steps of Newton."""
    y = x / (1 + x.abs())
    for _ in range(10):
        y = y - (y + y**3 - x) / (1 + 3 * y**2)
    return y


def attention(x: torch.Tensor) -> torch.Tensor:
    """A vector that looks at itself."""
    return torch.softmax(torch.outer(x, x) / 2, -1) @ x


VECTOR = (0.4, -0.7, 1.3, 0.1, -1.9)
MATRIX = (2.0, 0.3, -0.4, 0.3, 1.5, 0.2, -0.4, 0.2, 1.8)
IMAGE = tuple((7 * i % 16) / 5 - 1.5 for i in range(16))


def _of_vector(function: Function, of: str = "y[0]", wrt: str = "x[0]", domain: Range = (-3.0, 3.0)) -> Innocent:
    return Innocent(op_of(function, Input("x", shape=(5,), value=VECTOR, domain=domain)), wrt, of, count=FEW)


def _of_matrix(function: Function, of: str = "y", wrt: str = "x[0,1]", domain: Range = (-1.0, 1.0)) -> Innocent:
    return Innocent(op_of(function, Input("x", shape=(3, 3), value=MATRIX, domain=domain)), wrt, of, count=FEW)


def _of_image(function: Function, of: str, wrt: str) -> Innocent:
    return Innocent(op_of(function, Input("x", shape=(1, 1, 4, 4), value=IMAGE)), wrt, of, count=FEW)


def _each(module: Any, names: str, *where: Any) -> dict[str, Innocent]:
    return {name: _of_one(getattr(module, name), *where) for name in names.split()}


INNOCENTS: dict[str, Innocent] = (
    _each(torch, "sin cos tan exp exp2 expm1 sinh cosh tanh asinh atan erf erfc sigmoid abs relu square neg sinc")
    | _each(torch, "reciprocal selu celu floor ceil round trunc frac sign sgn i0 deg2rad nan_to_num positive")
    | _each(torch, "sqrt rsqrt log log2 log10", (0.0, 4.0))
    | _each(torch, "log1p", (-0.9, 4.0))
    | _each(torch, "acos asin atanh erfinv", (-0.95, 0.95))
    | _each(torch, "logit", (0.05, 0.95))
    | _each(torch, "acosh", (1.0, 4.0), 1.3)
    | _each(torch, "lgamma", (0.1, 6.0))
    | _each(S, "i0e i1 i1e ndtr erfcx expit")
    | _each(S, "entr", (0.0, 4.0))
    | _each(S, "ndtri", (0.02, 0.98))
    | _each(F, "gelu silu mish elu softsign tanhshrink hardtanh hardswish relu6 leaky_relu logsigmoid softplus")
    | _each(F, "softshrink hardshrink")
    | {
        "gelu by tanh": _of_one(lambda x: F.gelu(x, approximate="tanh")),
        "quick gelu": _of_one(lambda x: x * torch.sigmoid(1.702 * x)),
        "leaky relu of 0.2": _of_one(lambda x: F.leaky_relu(x, 0.2)),
        "elu of 0.5": _of_one(lambda x: F.elu(x, 0.5)),
        "softplus, sharp": _of_one(lambda x: F.softplus(x, beta=10.0)),
        "softplus, early threshold": _of_one(lambda x: F.softplus(x, threshold=40.0)),
        "softplus by hand": _of_one(softplus),
        "threshold": _of_one(lambda x: F.threshold(x, 0.5, 0.5)),
        "x cubed": _of_one(lambda x: x**3),
        "x to the 9th": _of_one(lambda x: x**9),
        "x to the −2": _of_one(lambda x: x**-2),
        "x to the 1.5": _of_one(lambda x: x**1.5, (0.0, 4.0)),
        "2 to the x": _of_one(lambda x: 2.0**x),
        "x to the x": _of_one(lambda x: x**x, (0.01, 3.0)),
        "x log x": _of_one(lambda x: torch.xlogy(x, x), (0.01, 3.0)),
        "x |x|": _of_one(lambda x: x * x.abs()),
        "a polynomial": _of_one(horner),
        "a parabola far up": _of_one(lambda x: x * x + 1e6),
        "a steep parabola": _of_one(lambda x: 1e6 * x * x),
        "a faint sine": _of_one(lambda x: 1e-9 * torch.sin(x)),
        "a fast sine": _of_one(lambda x: torch.sin(50 * x)),
        "a narrow bell": _of_one(lambda x: torch.exp(-100 * x * x)),
        "a steep sigmoid": _of_one(lambda x: torch.sigmoid(200 * x)),
        "a rounded corner": _of_one(lambda x: torch.sqrt(x * x + 1)),
        "a rounded corner, sharp": _of_one(lambda x: torch.sqrt(x * x + 1e-6)),
        "log cosh": _of_one(log_cosh),
        "Runge's function": _of_one(lambda x: 1 / (1 + 25 * x * x)),
        "a rotation": _of_one(rotated),
        "a B-spline": _of_one(spline),
        "Newton's steps": _of_one(fixed_point),
        "an exponential of a sine": _of_one(lambda x: torch.exp(torch.sin(3 * x)) * x),
        "a root of what is positive": _of_one(safe_sqrt),
        "a logarithm, clamped": _of_one(lambda x: torch.log(x.clamp(min=1e-3))),
        "clamp off the grid": _of_one(lambda x: x.clamp(-0.77, 1.234)),
        "a maximum": _of_one(lambda x: torch.maximum(x, x * x)),
        "a minimum of three": _of_one(lambda x: torch.minimum(torch.minimum(x + 2, 2 - x), x * x)),
        "masked where": _of_one(lambda x: torch.where(x < 0, x.sin(), x * x)),
        "masked fill": _of_one(lambda x: (x * x).masked_fill(x < -1, 1.0)),
        "a triangle wave": _of_one(lambda x: (x - torch.floor(x + 0.5)).abs()),
        "remainder": _of_one(lambda x: torch.remainder(x, 0.7)),
        "fmod": _of_one(lambda x: torch.fmod(x, 0.7)),
        "a quantiser": _of_one(lambda x: torch.round(8 * x) / 8),
        "a constant": _of_one(lambda x: 0 * x + 5),
        "the identity": _of_one(lambda x: x * 1),
        "huber": _of_one(lambda x: F.huber_loss(x, torch.zeros_like(x), reduction="none", delta=0.8)),
        "smooth l1": _of_one(lambda x: F.smooth_l1_loss(x, torch.ones_like(x), reduction="none", beta=0.5)),
        "mean squares": _of_one(lambda x: F.mse_loss(x, torch.ones_like(x), reduction="none")),
        "mean absolutes": _of_one(lambda x: F.l1_loss(x, torch.ones_like(x), reduction="none")),
        "hinge": _of_one(lambda x: (1 - x).clamp(min=0)),
        "soft margin": _of_one(lambda x: F.softplus(-x)),
        "focal loss": _of_one(lambda x: -((1 - torch.sigmoid(x)) ** 2) * F.logsigmoid(x)),
        "cross entropy of logits": _of_one(
            lambda x: F.binary_cross_entropy_with_logits(x, torch.full_like(x, 0.3), reduction="none")
        ),
        "cross entropy of shares": _of_one(
            lambda x: F.binary_cross_entropy(x, torch.full_like(x, 0.3), reduction="none"),
            (0.05, 0.95),
            far=(0.001, 0.999),
        ),
        "poisson": _of_one(lambda x: F.poisson_nll_loss(x, torch.full_like(x, 2.0), reduction="none")),
        "hypot": _of_two(torch.hypot, 0.5),
        "atan2": _of_two(torch.atan2, 0.5),
        "atan2, its second": _of_two(torch.atan2, 0.5, wrt="y"),
        "logaddexp": _of_two(torch.logaddexp, 0.5),
        "logaddexp2": _of_two(torch.logaddexp2, 0.5),
        "a product": _of_two(torch.mul, -1.7),
        "a quotient": _of_two(torch.div, 1.7),
        "a quotient, its second": _of_two(torch.div, 1.7, wrt="y"),
        "a power": _of_two(torch.pow, 2.5, (0.0, 3.0)),
        "a power, its second": _of_two(torch.pow, 2.5, wrt="y"),
        "lerp": _of_two(lambda x, y: torch.lerp(x, y, 0.3), 0.5),
        "lerp, its weight": _of_two(lambda x, y: torch.lerp(torch.full_like(x, 2.0), y, x), 0.5),
        "xlog1py": _of_two(S.xlog1py, 0.5),
        "copysign": _of_two(torch.copysign, 0.5),
        "fmax": _of_two(torch.fmax, 0.5),
        "Rosenbrock": _of_two(rosenbrock, 0.8),
        "prelu": _of_two(lambda x, y: torch.where(x > 0, x, y * x), 0.25),
        "gaussian likelihood": _of_two(
            lambda x, y: F.gaussian_nll_loss(x, torch.zeros_like(x), y * y + 0.1, reduction="none"), 0.5
        ),
        "softmax": _of_vector(lambda x: torch.softmax(x, -1)),
        "softmax, another": _of_vector(lambda x: torch.softmax(x, -1), of="y[2]"),
        "log softmax": _of_vector(lambda x: torch.log_softmax(x, -1)),
        "log-sum-exp": _of_vector(lambda x: torch.logsumexp(x, -1), of="y"),
        "log-sum-exp by hand": _of_vector(lambda x: x.max() + torch.log(torch.exp(x - x.max()).sum()), of="y"),
        "cross entropy": _of_vector(lambda x: F.cross_entropy(x[None], torch.tensor([2])), of="y"),
        "cumsum": _of_vector(lambda x: torch.cumsum(x, -1), of="y[3]"),
        "cumprod": _of_vector(lambda x: torch.cumprod(x, -1), of="y[3]"),
        "logcumsumexp": _of_vector(lambda x: torch.logcumsumexp(x, -1), of="y[3]"),
        "cummax": _of_vector(lambda x: torch.cummax(x, -1).values, of="y[3]"),
        "prod": _of_vector(torch.prod, of="y"),
        "mean": _of_vector(torch.mean, of="y"),
        "variance": _of_vector(torch.var, of="y"),
        "standard deviation": _of_vector(torch.std, of="y"),
        "norm": _of_vector(lambda x: torch.linalg.vector_norm(x), of="y"),
        "norm of order 3": _of_vector(lambda x: torch.linalg.vector_norm(x, 3), of="y"),
        "normalize": _of_vector(lambda x: F.normalize(x, dim=-1)),
        "layer norm": _of_vector(lambda x: F.layer_norm(x, (5,))),
        "rms norm": _of_vector(lambda x: x / torch.sqrt((x * x).mean() + 1e-6)),
        "glu": _of_vector(lambda x: F.glu(x[:4], -1)),
        "max": _of_vector(torch.amax, of="y"),
        "median": _of_vector(torch.median, of="y"),
        "quantile": _of_vector(lambda x: torch.quantile(x, 0.4), of="y"),
        "sort": _of_vector(lambda x: torch.sort(x).values, of="y[2]"),
        "top two": _of_vector(lambda x: torch.topk(x, 2).values, of="y[1]"),
        "diff": _of_vector(torch.diff),
        "roll and flip": _of_vector(lambda x: torch.roll(x, 2).flip(0) * x, of="y[1]"),
        "gather": _of_vector(lambda x: x[torch.tensor([0, 0, 2, 0])].sum() ** 2, of="y"),
        "dropout, asleep": _of_vector(lambda x: F.dropout(x, 0.5, training=False)),
        "distances": _of_vector(lambda x: torch.cdist(x[:2, None], x[2:, None]).sum(), of="y"),
        "convolution": _of_vector(lambda x: F.conv1d(x[None, None], x[None, None, :3])[0, 0], of="y[1]"),
        "spectrum": _of_vector(lambda x: torch.fft.rfft(x).abs(), of="y[1]"),
        "cosine similarity": _of_vector(lambda x: F.cosine_similarity(x[:2], x[2:4], dim=0), of="y"),
        "attention": _of_vector(attention, of="y[1]"),
        "matrix product": _of_matrix(lambda x: x @ x, of="y[0,1]"),
        "determinant": _of_matrix(torch.linalg.det),
        "log determinant": _of_matrix(lambda x: torch.logdet(x @ x.mT + torch.eye(3, dtype=x.dtype))),
        "inverse": _of_matrix(torch.linalg.inv, of="y[0,1]"),
        "linear system": _of_matrix(lambda x: torch.linalg.solve(x, x.new_ones(3)), of="y[0]"),
        "cholesky": _of_matrix(lambda x: torch.linalg.cholesky(x @ x.mT + torch.eye(3, dtype=x.dtype)), of="y[1,0]"),
        "singular values": _of_matrix(torch.linalg.svdvals, of="y[0]"),
        "eigenvalues": _of_matrix(lambda x: torch.linalg.eigvalsh(x + x.mT), of="y[0]"),
        "trace of a power": _of_matrix(lambda x: torch.trace(x @ x @ x)),
        "average pool": _of_image(lambda x: F.avg_pool2d(x, 2), "y[0,0,0,1]", "x[0,0,1,2]"),
        "max pool": _of_image(lambda x: F.max_pool2d(x, 2), "y[0,0,0,1]", "x[0,0,1,2]"),
        "bilinear": _of_image(
            lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"), "y[0,0,2,3]", "x[0,0,1,2]"
        ),
        "image convolution": _of_image(lambda x: F.conv2d(x, x[:, :, :2, :2]), "y[0,0,1,1]", "x[0,0,1,1]"),
    }
)
# Those of one number that can be called from −3 to 3, as functions of tensors.
RIGHT = {
    name: each.op.call
    for name, each in INNOCENTS.items()
    if len(each.op.inputs) == 1 and not each.wrt and name != "cross entropy of shares"
}
NOT_IN_16_BITS = {"erfcx", "i1", "i1e", "ndtri"}
