"""Programs of tensor operations drawn at random: views, writes into them, sums, products, masks, orders."""

from collections.abc import Callable
from random import Random

import torch

F = torch.nn.functional
Tensor = torch.Tensor
Step = Callable[[Tensor, Tensor, float], Tensor]
MOST_ELEMENTS, MOST_KEPT = 24, 5


def _last(t: Tensor) -> int:
    return t.dim() - 1


def _written(write: Callable[[Tensor, float], object]) -> Step:
    """A step that writes into a copy."""

    def step(t: Tensor, s: Tensor, k: float) -> Tensor:
        copy = t.clone()
        write(copy, k)
        return copy

    return step


def _into_view(view: Callable[[Tensor], Tensor]) -> Step:
    """A step that writes into a view of a copy, several times."""

    def step(t: Tensor, s: Tensor, k: float) -> Tensor:
        copy = t.clone()
        part = view(copy)
        part.mul_(2).add_(k)
        if k > 1.5:
            part.sin_()
        return copy

    return step


def _filled(t: Tensor, s: Tensor, k: float) -> Tensor:
    made = torch.zeros_like(t)
    made[0] = t[0] * 2
    made[..., -1] = k
    return made


def _copied(t: Tensor, s: Tensor, k: float) -> Tensor:
    made = t.new_empty(t.shape)
    made.copy_(t * k)
    return made + torch.zeros(t.shape, dtype=torch.float64).copy_(t)


def _largest(t: Tensor, s: Tensor, k: float) -> Tensor:
    values, places = t.max(-1)
    return values + places


NUMBERS: list[Step] = [
    *(lambda t, s, k, f=f: f(t) for f in (torch.sin, torch.cos, torch.tanh, torch.sigmoid, torch.erf, torch.atan)),
    *(lambda t, s, k, f=f: f(t) for f in (torch.abs, torch.relu, torch.neg, torch.square, torch.sign, torch.frac)),
    *(lambda t, s, k, f=f: f(t) for f in (torch.floor, torch.ceil, torch.trunc, torch.round, F.softplus, F.silu)),
    *(lambda t, s, k, f=f: f(t) for f in (F.gelu, F.hardtanh, F.leaky_relu, F.elu, F.logsigmoid)),
    lambda t, s, k: torch.exp(t.clamp(-3, 3)),
    lambda t, s, k: torch.clamp(t, min=-k, max=k / 2),
    lambda t, s, k: torch.remainder(t, k + 0.3137),
    lambda t, s, k: torch.sqrt(1 + t * t) - torch.log(1 + t.abs()),
    lambda t, s, k: t + s,
    lambda t, s, k: k - t * s,
    lambda t, s, k: t / (2 + s * s),
    lambda t, s, k: torch.maximum(t, s),
    lambda t, s, k: torch.minimum(t, s),
    lambda t, s, k: torch.addcmul(t, s, s, value=0.5) + torch.add(t, s, alpha=2),
    lambda t, s, k: torch.where(t > k - 1.5, t * t, 1 - t),
    lambda t, s, k: t * ((t >= -k) & (t < k)),
    lambda t, s, k: t.masked_fill(t > k, 0.25) + ((t > 0) | (t < -k)).double(),
    lambda t, s, k: t.to(torch.float64) * (t <= k - 1).to(t.dtype) + (t > 0).float(),
    *(_written(lambda y, k, name=name: getattr(y, name)()) for name in ("abs_", "tanh_", "neg_", "sigmoid_")),
    _written(lambda y, k: y.mul_(1.5).add_(k).div_(1.7)),
    _written(lambda y, k: y.sub_(y.sin()).pow_(2).clamp_(min=-k)),
]
TENSORS: list[Step] = [
    lambda t, s, k: t.softmax(_last(t)),
    lambda t, s, k: t.log_softmax(_last(t)),
    lambda t, s, k: t.norm(dim=_last(t), keepdim=True),
    lambda t, s, k: t.logsumexp(_last(t), keepdim=True),
    lambda t, s, k: t.var(_last(t), keepdim=True, correction=0),
    lambda t, s, k: F.layer_norm(t, t.shape[-1:]),
    lambda t, s, k: t.cumsum(-1) + t.cumprod(-1),
    lambda t, s, k: t.sum() + t.mean(-1),
    lambda t, s, k: t.sum(0, keepdim=True) * t.prod(-1, keepdim=True),
    lambda t, s, k: t.amax(-1) - t.amin(-1) + t.max(),
    lambda t, s, k: (t > 0).sum().double() + t,
    lambda t, s, k: t.reshape(-1),
    lambda t, s, k: t.transpose(0, -1),
    lambda t, s, k: t.flip(0).roll(1, 0),
    lambda t, s, k: t[..., :1].expand(t.shape),
    lambda t, s, k: t.unsqueeze(0).expand(2, *t.shape),
    lambda t, s, k: t.movedim(0, -1).contiguous(),
    lambda t, s, k: t.unbind(0)[0],
    lambda t, s, k: torch.cat((t.reshape(-1), s.reshape(-1))),
    lambda t, s, k: torch.stack((t, k * t)),
    lambda t, s, k: t[torch.arange(t.shape[0] - 1, -1, -1)],
    lambda t, s, k: t.index_select(0, torch.tensor([0, t.shape[0] - 1])),
    lambda t, s, k: t.gather(0, torch.zeros(t.shape, dtype=torch.long)),
    lambda t, s, k: t.scatter(0, torch.zeros(1, *t.shape[1:], dtype=torch.long), (t * 3)[:1]),
    lambda t, s, k: t.scatter(0, torch.zeros(1, *t.shape[1:], dtype=torch.long), 0.7),
    lambda t, s, k: F.pad(t, (1, 0)),
    lambda t, s, k: t.sort(-1, descending=k > 1.5).values,
    lambda t, s, k: t.topk(1, -1).values,
    _largest,
    _filled,
    _copied,
    *(
        _into_view(view)
        for view in (
            lambda y: y[0],
            lambda y: y.reshape(-1)[:2],
            lambda y: y.transpose(0, -1),
            lambda y: y.flatten()[::2],
            lambda y: y.select(-1, 0),
        )
    ),
]
MATRICES: list[Step] = [
    lambda t, s, k: t @ t.T,
    lambda t, s, k: torch.mv(t, t[0]),
    lambda t, s, k: F.linear(t, t, t[:, 0]),
    lambda t, s, k: torch.einsum("ij,kj->ik", t, t),
    lambda t, s, k: torch.addmm(t @ t.T, t, t.T, beta=0.5, alpha=2),
    lambda t, s, k: t.tril() + t.triu(1) * k,
    _into_view(lambda y: y.diagonal()),
]


def random_program(seed: int) -> Callable[[Tensor], Tensor]:
    """A function of a tensor to one of one element. A step whose shapes do not fit is left out."""
    random = Random(seed)
    drawn = [
        (random.choice((NUMBERS, NUMBERS, TENSORS, MATRICES)), random.random(), random.random(), random.random())
        for _ in range(random.randint(3, 9))
    ]
    places = [random.random() for _ in drawn]

    def program(x: Tensor) -> Tensor:
        kept = [x, x * 0.5 + 1.0]
        for (steps, first, second, number), place in zip(drawn, places, strict=True):
            t, s = kept[int(first * len(kept))], kept[int(second * len(kept))]
            ranks = {id(NUMBERS): 0, id(TENSORS): 1, id(MATRICES): 2}[id(steps)]
            if t.dim() < ranks or (ranks == 2 and t.dim() != 2):
                continue
            s = s if s.shape == t.shape else t * 0.7
            y = steps[int(place * len(steps))](t, s, round(3 * number, 2))
            if y.numel() <= MOST_ELEMENTS and y.dim() <= 3:
                kept = [*kept, y][-MOST_KEPT:]
        total = kept[-1].reshape(-1)[:1]
        for each in kept:
            total = total + each.sum() * 0.1
        return total

    return program
