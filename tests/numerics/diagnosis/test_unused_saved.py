import numpy as np
import pytest
import torch
from support.sections import op_of, section

from gradloupe.ops import Input
from gradloupe.server.numerics.diagnosis.unused_saved import unused_saved

X = np.linspace(-3, 3, 101)


def saving(save, backward, *inputs):
    """An op that saves what ``save`` makes of its inputs and its output, their product."""

    class Saving(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *given):
            y = given[0] * given[-1]
            ctx.save_for_backward(*save(y, *given))
            return y

        @staticmethod
        def backward(ctx, grad_output):
            return backward(grad_output, *ctx.saved_tensors)

    return op_of(Saving.apply, *inputs)


def unused(op, **asked):
    return unused_saved(section(op, **asked), X)


@pytest.mark.parametrize("wrt", ["input[0,0]", "weight[0,0]", "bias[0]"])
def test_a_tensor_that_serves_the_gradient_of_another_input_is_used(wrt):
    assert unused("functional_linear", wrt=wrt) == ("bias",)


def test_a_tensor_of_which_only_the_sign_matters_is_used():
    assert unused(saving(lambda y, x: (x,), lambda g, x: g * (x > 0.5), Input("x"))) == ()


def test_a_mask_of_booleans_is_used():
    assert unused(saving(lambda y, x: (x > 0,), lambda g, mask: g * mask, Input("x"))) == ()


def test_each_unused_tensor_is_named_by_what_it_is():
    op = saving(
        lambda y, u, v: (u, y, u + 1, v, None, u > 0),
        lambda g, u, y, more, v, none, mask: (g * v, None),
        Input("u"),
        Input("v", value=2.0),
    )
    assert unused(op) == ("u", "y", "a tensor", "a tensor")


def test_a_backward_that_never_repeats_itself_tells_nothing():
    assert unused(saving(lambda y, x: (x,), lambda g, x: g * torch.rand_like(g), Input("x"))) == ()
