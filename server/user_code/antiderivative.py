"""The function that a gradient is the derivative of, by quadrature: a surrogate of which only the slope is known."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

# The Gauss-Lobatto rule of seven nodes on [-1, 1], from its middle on. It has nodes at both ends: no jump hides there.
_NODES = (0.0, 0.46884879347071421, 0.83022389627856693, 1.0)
_WEIGHTS = (0.48761904761904762, 0.43174538120986262, 0.27682604736156595, 0.047619047619047619)
_PANELS, _HALVINGS, _MOST_PIECES, _ACCURACY = 16, 64, 2**20, 1e-14


def antiderivative(gradient: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The surrogate whose derivative by its first argument is ``gradient``, element by element, and which is 0 at 0.

    It takes the arguments of ``gradient``; where those are tensors, they are of the shape of the first, or broadcast to
    it. The integral is Gauss's rule in pieces that are halved until they agree, so ``gradient`` may jump.
    """

    @functools.wraps(gradient)
    def surrogate(x: torch.Tensor, *others: Any, **keywords: Any) -> torch.Tensor:
        return _Integral.apply(functools.partial(gradient, **keywords), x, *others)  # type: ignore[no-untyped-call]

    return surrogate


class _Integral(torch.autograd.Function):
    """∫ ``gradient`` from 0 to x."""

    @staticmethod
    def forward(ctx: Any, gradient: Callable[..., torch.Tensor], x: torch.Tensor, *others: Any) -> torch.Tensor:
        ctx.gradient, ctx.others = gradient, others
        ctx.save_for_backward(x)
        return _integral(gradient, x.detach(), others)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (x,) = ctx.saved_tensors
        return (None, grad_output * ctx.gradient(x, *ctx.others), *(None for _ in ctx.others))


def _integral(gradient: Callable[..., torch.Tensor], x: torch.Tensor, others: tuple[Any, ...]) -> torch.Tensor:
    """The integral up to each element of ``x``, in pieces that are halved until they agree with their halves."""
    end = x.double().reshape(-1)
    areas = _Areas(gradient, [_flat(each, x.shape) for each in others])
    edges = torch.linspace(0, 1, _PANELS + 1, dtype=torch.float64, device=x.device)
    low, high = (end[:, None] * edges[:-1]).reshape(-1), (end[:, None] * edges[1:]).reshape(-1)
    place = torch.arange(end.numel(), device=x.device).repeat_interleave(_PANELS)
    whole, total = areas.between(low, high, place), torch.zeros_like(end)
    for halvings in range(_HALVINGS):
        middle = (low + high) / 2
        left, right = areas.between(low, middle, place), areas.between(middle, high, place)
        last = halvings == _HALVINGS - 1 or low.numel() > _MOST_PIECES
        more = ((left + right - whole).abs() > _ACCURACY * (1 + whole.abs())) & (not last)
        total.index_add_(0, place[~more], (left + right)[~more])
        if not more.any():
            break
        low, high = torch.cat((low[more], middle[more])), torch.cat((middle[more], high[more]))
        place, whole = place[more].repeat(2), torch.cat((left[more], right[more]))
    return total.reshape(x.shape).to(x.dtype)


def _flat(argument: Any, shape: torch.Size) -> Any:
    """A tensor with dimensions as one number for each element; anything else as it is."""
    if isinstance(argument, torch.Tensor) and argument.dim():
        return argument.detach().expand(shape).reshape(-1)
    return argument


@dataclass(frozen=True)
class _Areas:
    """Areas under a function, in double precision; of the ``others`` tensors have a number for each element."""

    gradient: Callable[..., torch.Tensor]
    others: list[Any]

    def between(self, low: torch.Tensor, high: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        """The areas from ``low`` to ``high``, each for the element at its ``place``."""
        nodes, weights = low.new_tensor([-each for each in _NODES[:0:-1]] + [*_NODES]), _WEIGHTS[:0:-1] + _WEIGHTS
        half = (high - low) / 2
        t = (high + low)[:, None] / 2 + half[:, None] * nodes
        row = place[:, None].expand(t.shape).reshape(-1)
        given = [each[row] if isinstance(each, torch.Tensor) and each.dim() else each for each in self.others]
        values = torch.as_tensor(self.gradient(t.reshape(-1), *given)).double()
        return half * (values.expand(row.shape).reshape(t.shape) @ low.new_tensor(weights))
