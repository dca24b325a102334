"""Operations that are formulas of others, where torch's own would leave out what can be known, or there is none.

What torch does against overflow, as to subtract the largest of all, is left out: it bends where it need not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .column import Column, Lanes
from .enclosure import head
from .stand_in import columns_of, groups

# ---------------------------------------------------------------- orders


def order_of(x: Any, dim: int, first: int, largest: bool) -> Tensor:
    """The places of the first elements along a dimension, if they are the same for all t; equal ones have no order.

    Raises ``Parted``.
    """
    lanes, columns = x.store.lanes, columns_of(x, x.store.lanes)
    if not x.dim():
        return torch.tensor(0)
    rows = [_ordered(lanes, [columns[i] for i in group], first, largest) for group in groups(x.shape, [dim])]
    kept = [size for axis, size in enumerate(x.shape) if axis != dim % x.dim()]
    return torch.tensor(rows).reshape(*kept, first).movedim(-1, dim).contiguous()


def _ordered(lanes: Lanes, columns: list[Column], first: int, largest: bool) -> list[int]:
    orders = [_by_middles([each.values[lane] for each in columns], largest) for lane in range(len(lanes.balls))]
    pairs = {(order[i], j) for order in orders for i in range(min(first, len(order) - 1)) for j in order[i + 1 :]}
    differences = {(i, j): columns[i] - columns[j] for i, j in sorted(pairs)}
    lanes.signed |= any(each.degree % 2 for each in differences.values())
    signs = {pair: lanes.signs(each.values) for pair, each in differences.items()}
    wanted = 1 if largest else -1
    ways = [
        tuple(order[:first])
        if all(signs[i, j][lane] == wanted for n, i in enumerate(order[:first]) for j in order[n + 1 :])
        else None
        for lane, order in enumerate(orders)
    ]
    return list(lanes.same(ways))


def _by_middles(values: list[Any], largest: bool) -> list[int]:
    middles = [float(head(each).mid()) if head(each).is_finite() else 0.0 for each in values]
    return sorted(range(len(values)), key=lambda i: -middles[i] if largest else middles[i])


def _taken(x: Tensor, dim: int, order: Tensor) -> tuple[Tensor, Tensor]:
    return x.gather(dim, order), order


def _sort(x: Tensor, dim: int = -1, descending: bool = False, stable: Any = None) -> tuple[Tensor, Tensor]:
    return _taken(x, dim, order_of(x, dim, x.shape[dim], descending))


def _topk(x: Tensor, k: int, dim: int = -1, largest: bool = True, in_order: bool = True) -> tuple[Tensor, Tensor]:
    return _taken(x, dim, order_of(x, dim, k, largest))


def _extreme(largest: bool) -> Callable[..., Any]:
    def formula(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
        if dim is None:
            return x.amax() if largest else x.amin()
        found = _taken(x, dim, order_of(x, dim, 1, largest))
        return found if keepdim else tuple(each.squeeze(dim) for each in found)

    return formula


def _place_of(largest: bool) -> Callable[..., Tensor]:
    def formula(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        if dim is None:
            return order_of(x.reshape(-1), 0, 1, largest).squeeze(0)
        order = order_of(x, dim, 1, largest)
        return order if keepdim else order.squeeze(dim)

    return formula


# ---------------------------------------------------------------- the table


def _mean(x: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    total = x.sum(dim, keepdim=keepdim, dtype=dtype)
    return total / (x.numel() // total.numel())


def _variance(x: Tensor, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Tensor:
    off = x - x.mean(dim, keepdim=True)
    total = (off * off).sum(dim, keepdim=keepdim)
    return total / (x.numel() // total.numel() - (1 if correction is None else correction))


def _layer_norm(x: Tensor, shape: Any, weight: Any, bias: Any, eps: float) -> tuple[Tensor, ...]:
    dims = list(range(x.dim() - len(shape), x.dim()))
    mean, inverse = x.mean(dims, keepdim=True), (_variance(x, dims, correction=0, keepdim=True) + eps).rsqrt()
    y = (x - mean) * inverse * (1.0 if weight is None else weight)
    return (y if bias is None else y + bias), mean, inverse


def _running(kernel: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def formula(x: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
        return torch.stack([kernel(x.narrow(dim, 0, count + 1), dim) for count in range(x.shape[dim])], dim)

    return formula


def _ranked(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    found = _taken(x, dim, order_of(x, dim, k, False).narrow(dim, k - 1, 1))
    return found if keepdim else (found[0].squeeze(dim), found[1].squeeze(dim))


def _median(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    if dim is None:
        return _ranked(x.reshape(-1), (x.numel() + 1) // 2)[0]
    return _ranked(x, (x.shape[dim] + 1) // 2, dim, keepdim)


def _distances(a: Tensor, b: Tensor, p: float, mode: Any) -> Tensor:
    off = a.unsqueeze(-2) - b.unsqueeze(-3)
    return (off * off).sum(-1).sqrt() if p == 2 else (off.abs() ** p).sum(-1) ** (1 / p)


FORMULAS: dict[str, Callable[..., Any]] = {
    "sort": _sort,
    "topk": _topk,
    **{name: _extreme(name == "max") for name in ("max", "min")},
    **{name: _place_of(name == "argmax") for name in ("argmax", "argmin")},
    "_softmax": lambda x, dim, half: x.exp() / x.exp().sum(dim, keepdim=True),
    "_log_softmax": lambda x, dim, half: x - x.exp().sum(dim, keepdim=True).log(),
    "logsumexp": lambda x, dim, keepdim=False: x.exp().sum(dim, keepdim).log(),
    "logaddexp": lambda a, b: (a.exp() + b.exp()).log(),
    "log_sigmoid_forward": lambda x: (-torch.log1p(torch.exp(-x)), torch.exp(-x)),
    "log_sigmoid_backward": lambda g, x, buffer: g * torch.sigmoid(-x),
    "kthvalue": _ranked,
    "median": _median,
    "_cdist_forward": _distances,
    "atan2": lambda y, x: 2 * torch.atan(y / ((x * x + y * y).sqrt() + x)),
    "mean": _mean,
    "var": _variance,
    "std": lambda *args, **kwargs: _variance(*args, **kwargs).sqrt(),
    "native_layer_norm": _layer_norm,
    "cumsum": _running(torch.sum),
    "cumprod": _running(torch.prod),
    **dict.fromkeys(("mm", "bmm"), lambda a, b: (a.unsqueeze(-1) * b.unsqueeze(-3)).sum(-2)),
    "lerp": lambda a, b, weight: a + weight * (b - a),
    "hypot": lambda a, b: (a * a + b * b).sqrt(),
    "frac": lambda x: x - x.trunc(),
    "remainder": lambda a, b: a - b * torch.div(a, b, rounding_mode="floor"),
    "fmod": lambda a, b: a - b * torch.div(a, b, rounding_mode="trunc"),
}
