"""Convolutions, pools and linear algebra are enclosed as torch computes them: values and slopes at random places."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
import torch
from support.sections import op_of, section

from gradloupe.ops import Input
from gradloupe.server.proof import prove
from gradloupe.server.proof.call import enclose, lanes_of, precision
from gradloupe.server.proof.enclosure import head

F, linalg = torch.nn.functional, torch.linalg
PLACES = [Random(1).uniform(-2, 2) for _ in range(6)]


def waves(*shape: int) -> torch.Tensor:
    """Numbers without a pattern, of which no two are equal."""
    return (torch.arange(torch.Size(shape).numel(), dtype=torch.float64) ** 2 + 0.3).sin().reshape(shape)


MATRIX = waves(3, 3) @ waves(3, 3).T + 4 * torch.eye(3, dtype=torch.float64)


def spread(x: torch.Tensor) -> torch.Tensor:
    """One number that all elements have a part in, each another."""
    return (x * waves(*x.shape)).sum()


# By the shape of x, what is computed of it.
COMPUTED: dict[str, tuple[tuple[int, ...], Callable[[torch.Tensor], Any]]] = {
    "conv1d": ((2, 2, 6), lambda x: F.conv1d(x, waves(3, 2, 3), waves(3))),
    "conv1d in groups": ((1, 4, 5), lambda x: F.conv1d(x, waves(4, 2, 3), stride=2, padding=1, groups=2)),
    "conv2d": ((1, 1, 4, 5), lambda x: F.conv2d(x, waves(2, 1, 2, 3), stride=(2, 1), padding=(0, 1))),
    "conv2d by its weights": ((2, 1, 2, 2), lambda w: F.conv2d(waves(1, 1, 4, 4), w, padding=1, dilation=2)),
    "conv2d without a batch": ((1, 3, 3), lambda x: F.conv2d(x, waves(1, 1, 2, 2))),
    "conv_transpose1d": (
        (1, 2, 3),
        lambda x: F.conv_transpose1d(x, waves(2, 3, 4), stride=2, padding=1, output_padding=1),
    ),
    "conv_transpose2d in groups": (
        (1, 4, 2, 2),
        lambda x: F.conv_transpose2d(x, waves(4, 1, 3, 3), stride=(2, 1), padding=(1, 0), groups=2, dilation=(1, 2)),
    ),
    "avg_pool1d": ((1, 1, 5), lambda x: F.avg_pool1d(x, 2)),
    "avg_pool2d": ((1, 1, 4, 4), lambda x: F.avg_pool2d(x, 3, 2, 1)),
    "max_pool1d": ((1, 1, 5), lambda x: F.max_pool1d(x + waves(5), 2)),
    "max_pool2d": ((1, 2, 4, 4), lambda x: F.max_pool2d(x + waves(4, 4), 3, 2, 1)),
    "max_unpool2d": ((1, 1, 4, 4), lambda x: F.max_unpool2d(*F.max_pool2d(x + waves(4, 4), 2, return_indices=True), 2)),
    "pad": ((3, 3), lambda x: F.pad(x, (1, -1, 0, 2), value=0.5)),
    **{
        f"scatter_reduce, {kind}": (
            (6,),
            lambda x, kind=kind: (
                waves(3).scatter_reduce(0, torch.arange(6) % 2, x * waves(6), kind, include_self=False)
                + waves(4).scatter_reduce(0, torch.arange(6) % 4, x, kind)[:3]
            ),
        )
        for kind in ("sum", "prod", "mean", "amax", "amin")
    },
    "solve": ((3, 3), lambda x: linalg.solve(MATRIX + x / 9, waves(3, 2))),
    "solve from the right": ((3, 3), lambda x: linalg.solve(MATRIX + x / 9, waves(2, 3), left=False)),
    "solve for a batch": ((2, 3, 3), lambda x: linalg.solve(MATRIX + x / 9, waves(1, 3, 1))),
    "solve for a vector": ((3,), lambda x: linalg.solve(MATRIX, x)),
    "solve_triangular": ((3, 3), lambda x: linalg.solve_triangular(MATRIX + x / 9, waves(3, 2), upper=False)),
    "solve_triangular with ones": (
        (3, 3),
        lambda x: linalg.solve_triangular(MATRIX + x / 9, waves(3, 3), upper=True, unitriangular=True),
    ),
    "inv": ((3, 3), lambda x: linalg.inv(MATRIX + x / 9)),
    "det": ((3, 3), lambda x: linalg.det(MATRIX + x / 9)),
    "logdet": ((3, 3), lambda x: torch.logdet(MATRIX + x / 9)),
    "slogdet of a negative one": ((2, 2), lambda x: linalg.slogdet(MATRIX[:2, :2].flip(0) + x / 9)[1]),
    "cholesky": ((3,), lambda x: linalg.cholesky(MATRIX + torch.diag(x * x))),
    "cholesky of the upper triangle": ((3,), lambda x: linalg.cholesky(MATRIX + torch.diag(x * x), upper=True)),
    "cdist": ((2, 3), lambda x: torch.cdist(x, waves(4, 3))),
    "cdist of absolute values": ((2, 3), lambda x: torch.cdist(x, waves(4, 3), p=1)),
    "median": ((2, 5), lambda x: (x * waves(2, 5)).median(1).values),
    "kthvalue": ((5,), lambda x: (x + waves(5)).kthvalue(2).values),
    "atan2": ((2,), lambda x: torch.atan2(x[0], x[1] + 3)),
    "cross": ((3,), lambda x: linalg.cross(x, waves(3))),
    "glu": ((4,), lambda x: F.glu(x, 0)),
}


@pytest.mark.parametrize(("shape", "computed"), COMPUTED.values(), ids=COMPUTED)
def test_values_and_slopes_are_those_of_torch(shape: tuple[int, ...], computed: Callable[[torch.Tensor], Any]) -> None:
    class Written(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return spread(computed(x))

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output * torch.ones(shape, dtype=torch.float64)

    cut = section(op_of(Written.apply, Input("x", shape=shape)))
    for place in PLACES:
        with precision(128):
            found = enclose(cut, None, lanes_of([(place, place)]))
        value, slope = head(found.curve.values[0]), head(found.slope.values[0])
        x = torch.tensor(dict(cut.inputs)["x"], dtype=torch.float64).reshape(shape)
        x[cut.wrt_index] = place
        y = spread(computed(x.requires_grad_()))
        (gradient,) = torch.autograd.grad(y, x)
        assert float(value.mid()) == pytest.approx(y.item(), rel=1e-11, abs=1e-13)
        assert float(slope.mid()) == pytest.approx(gradient[cut.wrt_index].item(), rel=1e-9, abs=1e-11)
        assert slope.rad() < 1e-25


class Filtered(torch.autograd.Function):
    """A convolution with its backward by hand."""

    turned = True

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return F.conv1d(x, weight)

    @classmethod
    def backward(cls, ctx, grad_output):
        _, weight = ctx.saved_tensors
        return F.conv_transpose1d(grad_output, weight), None


class FilteredWrongly(Filtered):
    """One that forgets to turn the weights round."""

    @classmethod
    def backward(cls, ctx, grad_output):
        _, weight = ctx.saved_tensors
        return F.conv1d(F.pad(grad_output, (2, 2)), weight.transpose(0, 1)), None


@pytest.mark.parametrize(("function", "word"), [(Filtered, "proved"), (FilteredWrongly, "refuted")])
def test_a_convolution_by_hand_is_proved_and_one_that_is_not_turned_refuted(function: Any, word: str) -> None:
    op = op_of(lambda x: spread(function.apply(x, waves(2, 1, 3))), Input("x", shape=(1, 1, 5)))
    found = prove(section(op), None, -3.0, 3.0)
    assert found is not None
    assert found.word == word
