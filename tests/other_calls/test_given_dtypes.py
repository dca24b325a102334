"""Tensors of 16 bits, and of different dtypes: rounding is no difference, and what is wrong in them alone is told."""

import pytest
import torch
from functions.basics import with_backward

import gradloupe


class Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.to(x.dtype).t()

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        return grad_output @ weight.to(x.dtype), (grad_output.t() @ x).to(weight.dtype)


class WithoutCast(Linear):
    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        return grad_output @ weight, grad_output.t() @ x


class InSixteenBitsAlone(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        assert x.dtype.itemsize == 2
        ctx.save_for_backward(x)
        return 3 * x

    @staticmethod
    def backward(ctx, grad_output):
        return 3 * grad_output + 0 * ctx.saved_tensors[0]


def sine(factor):
    return with_backward(torch.sin, lambda g, x: g * torch.cos(x) * factor(x))


def drawn(*shapes, dtype):
    random = torch.Generator().manual_seed(0)
    return tuple(torch.randn(shape, generator=random).to(dtype) for shape in shapes)


SHORT = (torch.float16, torch.bfloat16)
ONE, TWO = ((7,),), ((4, 5), (3, 5))


@pytest.mark.parametrize("dtype", SHORT)
@pytest.mark.parametrize(
    ("function", "shapes", "right"),
    [
        (with_backward(torch.exp, lambda g, x: g * torch.exp(x)), ONE, True),
        (with_backward(torch.tanh, lambda g, x: g * (1 - torch.tanh(x) ** 2)), ONE, True),
        (with_backward(torch.relu, lambda g, x: g * (x > 0)), ONE, True),
        (Linear, TWO, True),
        (sine(lambda x: 1.3), ONE, False),
        (sine(lambda x: 1.5 if x.dtype in SHORT else 1.0), ONE, False),
    ],
)
def test_sixteen_bits_have_the_tolerance_of_sixteen_bits(function, shapes, right, dtype):
    assert gradloupe.check(function, drawn(*shapes, dtype=dtype)).ok is right


def test_what_insists_on_sixteen_bits_is_not_accused_of_their_rounding():
    assert gradloupe.check(InSixteenBitsAlone, drawn((7,), dtype=torch.float16)).ok


def test_the_error_of_plain_autograd_is_the_yardstick():
    found = gradloupe.check(sine(lambda x: 1.5 if x.dtype in SHORT else 1.0), drawn((7,), dtype=torch.bfloat16))
    assert "times the error of plain bfloat16" in str(found).replace("\n  ", " ")


@pytest.mark.parametrize(("function", "right"), [(Linear, True), (WithoutCast, False)])
def test_a_short_input_beside_a_long_weight_is_tried_where_forward_casts(function, right):
    assert gradloupe.check(function, drawn((4, 5), (3, 5), dtype=torch.float64)).ok is right
