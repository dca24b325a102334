"""Derivatives of x² that are false in a part of the range, each by another operation: none is ever proved."""

from collections.abc import Callable
from itertools import product

import pytest
import torch
from support.sampling import in_turn
from support.sections import section, written

from gradloupe.server.proof import prove

Tensor = torch.Tensor
F = torch.nn.functional


def but_beyond(write: Callable[[Tensor, Tensor], object]) -> Callable[[Tensor], Tensor]:
    """2 x, of which ``write`` changes a copy where x is beyond 2.9."""

    def derivative(x: Tensor) -> Tensor:
        y = (2 * x).clone()
        write(y, x > 2.9)
        return y

    return derivative


def beside(x: Tensor, other: float) -> Tensor:
    """It and a number, as a vector."""
    return torch.stack([x.reshape(()), torch.full((), other, dtype=x.dtype)])


FALSE: dict[str, Callable[[Tensor], Tensor]] = {
    "bucketize": lambda x: 2 * x * (1 + 1e-3 * torch.bucketize(x, torch.tensor([2.9], dtype=x.dtype)).to(x.dtype)),
    "heaviside": lambda x: 2 * x + torch.heaviside(x - 2.9, torch.ones((), dtype=x.dtype)) * 1e-3,
    "isclose": lambda x: torch.where(torch.isclose(x, torch.ones_like(x), rtol=1e-3), 0.0, 2 * x),
    "whole quotients": lambda x: 2 * x + 1e-3 * ((x * 1000).long() // 2999).to(x.dtype),
    "whole remainders": lambda x: 2 * x + 1e-3 * (((x * 10).long() % 7) == 6).to(x.dtype),
    "bytes that wrap": lambda x: 2 * x + 1e-3 * (x * 100).to(torch.uint8).to(x.dtype),
    "ldexp": lambda x: torch.ldexp(x, (x > 2.99).long() + 1),
    "NaN by a root": lambda x: torch.where(torch.isnan((x + 2.99).sqrt()), 3 * x, 2 * x),
    "NaN that is not itself": lambda x: torch.where((x + 2.99).log() != (x + 2.99).log(), 3 * x, 2 * x),
    "the larger of NaN and a number": lambda x: 2 * x + 1e-3 * torch.fmax((x + 2.9).log(), torch.full_like(x, 2.0)),
    "infinity times 0": lambda x: 2 * x + (x > 2.9) * float("inf"),
    "0 times NaN": lambda x: 2 * x + 0 * (x + 2.9).sqrt(),
    "how many are not 0": lambda x: 2 * x + 1e-3 * len(torch.nonzero(x > 2.95)),
    "a place by floor": lambda x: (
        2 * x * torch.tensor([1.0] * 5 + [1.001], dtype=x.dtype)[(x + 3).floor().long().clamp(0, 5)]
    ),
    "an embedding": lambda x: (
        2 * x
        + F.embedding((x.detach() > 2.9).long().reshape(1), torch.tensor([[0.0], [1e-3]], dtype=x.dtype)).reshape(
            x.shape
        )
    ),
    "hardtanh": lambda x: 2 * F.hardtanh(x, -2.9, 2.9),
    "softshrink": lambda x: 2 * x + 1e-3 * F.softshrink(x, 2.0),
    "addcmul": lambda x: torch.addcmul(2 * x, (x > 2.9).to(x.dtype), x, value=1e-3),
    "a write by a mask": but_beyond(lambda y, wrong: y.masked_fill_(wrong, 0.0)),
    "a write through detach": but_beyond(lambda y, wrong: y.detach().mul_((~wrong).to(y.dtype))),
    "a write into a view": but_beyond(lambda y, wrong: y.view(-1)[0:1].mul_((~wrong).to(y.dtype).reshape(-1))),
    "a write of a sum": but_beyond(lambda y, wrong: y.add_(wrong.to(y.dtype))),
    "xor": lambda x: torch.where((x > 2.9) ^ (x > 2.9001), 0.0, 2 * x),
    "not": lambda x: torch.where(~(x < 2.9), 3 * x, 2 * x),
    "a truth as a number": lambda x: 2 * x + 1e-3 * ((x > 2.9) * (x < 2.91)),
    "a root of a square": lambda x: 2 * (x * x).sqrt(),
    "a logarithm undone": lambda x: 2 * torch.exp(torch.log(x.abs())),
    "a remainder": lambda x: 2 * x + 1e-3 * torch.remainder(x, -3.001),
    "a wave too fast to see": lambda x: 2 * x + 1e-3 * torch.sin(1e9 * x),
    "a bell too narrow to see": lambda x: 2 * x + 1e-3 * torch.exp(-(((x - 1.23456789) * 1e9) ** 2)),
    "a pole beside the line": lambda x: 2 * x + 1e-20 / ((x - 1.23456789) ** 2 + 1e-18),
    "kinks that cancel but for one": lambda x: 2 * x + 1e-3 * ((x - 1).abs() - (x - 1).relu() + (x - 2.5).relu()),
    "a gradient within": lambda x: torch.autograd.functional.jacobian(
        lambda y: (y * y + 1e-3 * torch.relu(y - 2.5)).sum(), x
    ),
    "vmap within": lambda x: torch.func.vmap(lambda y: 2 * y + 1e-3 * (y > 2.9))(x.reshape(1)).reshape(x.shape),
    "random numbers": lambda x: 2 * x * (1 + 1e-3 * torch.rand((), generator=torch.Generator().manual_seed(0))),
    "the order": lambda x: 2 * x + 1e-3 * beside(x, 2.9).sort()[1][0].to(x.dtype),
    "the place of the least": lambda x: 2 * x + 1e-3 * beside(x, 2.9).argmin().to(x.dtype),
    "the place of the first": lambda x: 2 * x + 1e-3 * beside(x, 2.9).topk(1)[1][0].to(x.dtype),
    "a condition": lambda x: 2 * x * (1 + 1e-3 * bool(x > 2.9)),
    "the least of Python": lambda x: 2 * x * (1 if min(x.reshape(-1)) < 2.9 else 2),
    "a whole number of Python": lambda x: 2 * x * (1 + 1e-3 * (int(x) > 1)),
    "its text": lambda x: 2 * x * (1 + 1e-3 * (f"{x.item():.1f}" == "2.9")),
}


@pytest.mark.parametrize(
    ("how", "dtype", "grad_output"), in_turn(FALSE, *product((torch.float64, torch.float32), (1.0, -2.0)))
)
def test_what_is_false_in_a_part_is_never_proved(how: str, dtype: torch.dtype, grad_output: float) -> None:
    found = prove(section(written(torch.square, FALSE[how]), dtype=dtype), None, -3.0, 3.0, grad_output)
    assert found is not None
    assert found.word != "proved"
