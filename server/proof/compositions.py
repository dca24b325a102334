"""Operations that are formulas of others. Over the real numbers what torch does against overflow is left out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .decisions import Undecided


def _norm(x: Tensor, ord: float = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    if dtype is not None and dtype != x.dtype:
        raise Undecided("a norm in another dtype")
    dims = tuple(range(x.dim())) if dim is None or dim == [] else tuple(dim)
    if ord == math.inf:
        return x.abs().amax(dims, keepdim)
    if ord == 1:
        return x.abs().sum(dims, keepdim)
    if ord == 2:
        return (x * x).sum(dims, keepdim).sqrt()
    raise Undecided(f"the norm of order {ord}")


def _old_norm(x: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False) -> Tensor:
    return _norm(x, 2 if p is None else p, dim, keepdim)


def _variance(x: Tensor, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Tensor:
    dims = tuple(range(x.dim())) if dim is None or dim == [] else tuple(dim)
    count = math.prod(x.shape[each] for each in dims) - (1 if correction is None else correction)
    off = x - x.mean(dims, keepdim=True)
    return (off * off).sum(dims, keepdim) / count


def _layer_norm(x: Tensor, shape: Any, weight: Any, bias: Any, eps: float) -> tuple[Tensor, ...]:
    dims = tuple(range(x.dim() - len(shape), x.dim()))
    mean, inverse = x.mean(dims, keepdim=True), (_variance(x, dims, correction=0, keepdim=True) + eps).rsqrt()
    y = (x - mean) * inverse
    y = y if weight is None else y * weight
    return (y if bias is None else y + bias), mean, inverse


def _gelu(x: Tensor, approximate: str = "none") -> Tensor:
    if approximate == "tanh":
        raise Undecided("gelu with approximate='tanh'")  # its constants are those of C++
    return x * torch.special.ndtr(x)


def _softplus(x: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    return torch.where(x * beta > threshold, x, torch.log1p(torch.exp(x * beta)) / beta)


def _softplus_backward(g: Tensor, x: Tensor, beta: float, threshold: float) -> Tensor:
    return torch.where(x * beta > threshold, g, g * torch.sigmoid(x * beta))


def _elu(x: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Tensor:
    return torch.where(x > 0, x * scale, torch.expm1(x * input_scale) * (alpha * scale))


def _clamped(g: Tensor, x: Tensor, low: float, high: float) -> Tensor:
    return torch.where((x > low) & (x < high), g, 0.0)


def _product(a: Tensor, b: Tensor) -> Tensor:
    match a.dim(), b.dim():
        case 1, 1:
            return (a * b).sum()
        case 1, 2:
            return (a.unsqueeze(1) * b).sum(0)
        case 2, 1:
            return (a * b).sum(1)
        case 2, 2:
            return (a.unsqueeze(2) * b.unsqueeze(0)).sum(1)
    raise Undecided("a product of more than matrices")


def _loss(x: Tensor, reduction: int) -> Tensor:
    return (x, x.mean(), x.sum())[reduction] if reduction else x


COMPOSITIONS: dict[str, Callable[..., Any]] = {
    "_softmax": lambda x, dim, half: x.exp() / x.exp().sum(dim, keepdim=True),
    "_log_softmax": lambda x, dim, half: x - x.exp().sum(dim, keepdim=True).log(),
    "_softmax_backward_data": lambda g, y, dim, dtype: y * (g - (g * y).sum(dim, keepdim=True)),
    "_log_softmax_backward_data": lambda g, y, dim, dtype: g - y.exp() * g.sum(dim, keepdim=True),
    "logsumexp": lambda x, dim, keepdim=False: x.exp().sum(dim, keepdim).log(),
    "logaddexp": lambda a, b: (a.exp() + b.exp()).log(),
    "linalg_vector_norm": _norm,
    "norm": _old_norm,
    "var": _variance,
    "std": lambda *args, **kwargs: _variance(*args, **kwargs).sqrt(),
    "native_layer_norm": _layer_norm,
    "matmul": _product,
    "linear": lambda x, weight, bias=None: _product(x, weight.T) if bias is None else _product(x, weight.T) + bias,
    "mm": lambda a, b: (a.unsqueeze(2) * b.unsqueeze(0)).sum(1),
    "bmm": lambda a, b: (a.unsqueeze(3) * b.unsqueeze(1)).sum(2),
    "mv": lambda a, b: (a * b).sum(1),
    "dot": lambda a, b: (a * b).sum(),
    "addmm": lambda c, a, b, *, beta=1, alpha=1: c * beta + torch.mm(a, b) * alpha,
    "addmv": lambda c, a, b, *, beta=1, alpha=1: c * beta + torch.mv(a, b) * alpha,
    "baddbmm": lambda c, a, b, *, beta=1, alpha=1: c * beta + torch.bmm(a, b) * alpha,
    "addcmul": lambda c, a, b, *, value=1: c + value * a * b,
    "addcdiv": lambda c, a, b, *, value=1: c + value * a / b,
    "lerp": lambda a, b, weight: a + weight * (b - a),
    "hypot": lambda a, b: (a * a + b * b).sqrt(),
    "frac": lambda x: x - x.trunc(),
    "remainder": lambda a, b: a - b * torch.div(a, b, rounding_mode="floor"),
    "fmod": lambda a, b: a - b * torch.div(a, b, rounding_mode="trunc"),
    "xlogy": lambda a, b: torch.where(a == 0, 0.0, a * torch.log(b)),
    "tanh_backward": lambda g, y: g * (1 - y * y),
    "sigmoid_backward": lambda g, y: g * y * (1 - y),
    "threshold_backward": lambda g, x, threshold: torch.where(x <= threshold, 0.0, g),
    "threshold": lambda x, threshold, value: torch.where(x <= threshold, value, x),
    "softplus": _softplus,
    "softplus_backward": _softplus_backward,
    "silu_backward": lambda g, x: g * (x.sigmoid() * (1 + x * (1 - x.sigmoid()))),
    "gelu": _gelu,
    "elu": _elu,
    "leaky_relu": lambda x, slope=0.01: torch.where(x > 0, x, x * slope),
    "leaky_relu_backward": lambda g, x, slope, of_result: torch.where(x > 0, g, g * slope),
    "hardtanh": lambda x, low=-1, high=1: x.clamp(low, high),
    "hardtanh_backward": _clamped,
    "hardsigmoid": lambda x: (x + 3).clamp(0, 6) / 6,
    "hardswish": lambda x: x * (x + 3).clamp(0, 6) / 6,
    "softshrink": lambda x, bound=0.5: torch.where(x.abs() > bound, x - x.sign() * bound, 0.0),
    "hardshrink": lambda x, bound=0.5: torch.where(x.abs() <= bound, 0.0, x),
    "mse_loss": lambda x, y, reduction=1: _loss((x - y) * (x - y), reduction),
    "log_sigmoid_forward": lambda x: (-torch.log1p(torch.exp(-x)), torch.exp(-x)),
    "log_sigmoid_backward": lambda g, x, buffer: g * torch.sigmoid(-x),
    "celu": lambda x, alpha=1.0: torch.where(x > 0, x, torch.expm1(x / alpha) * alpha),
    "heaviside": lambda x, at_zero: torch.where(x == 0, at_zero, (x > 0).to(x.dtype)),
    "floor_divide": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "nan_to_num": lambda x, *_: torch.where(torch.isfinite(x), x, math.nan),
    "logit": lambda x, eps=None: torch.log(x / (1 - x)) if eps is None else _logit_clamped(x, eps),
}


def _logit_clamped(x: Tensor, eps: float) -> Tensor:
    inside = x.clamp(eps, 1 - eps)
    return torch.log(inside / (1 - inside))
