"""The check GRADIENT where it must not accuse: forwards that draw random numbers, and matrices that are symmetric."""

import torch
from functions.basics import with_backward
from support.examined import examined, levels
from support.written_functions import function_of

import gradloupe
from gradloupe.ops import Input

# Rejection sampling: the slope of one draw is not that of the mean.
Gamma = function_of("""
    def forward(ctx, x):
        y = torch._standard_gamma(x.exp())
        ctx.save_for_backward(x, y)
        return y
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * torch._standard_gamma_grad(x.exp(), y) * x.exp()
""")
# By a covariance, which is symmetric.
Distance = function_of("""
    def forward(ctx, x, cov):
        solved = torch.linalg.solve(cov, x)
        ctx.save_for_backward(solved)
        return (x * solved).sum()
    def backward(ctx, g):
        (solved,) = ctx.saved_tensors
        return 2 * g * solved, -g * torch.outer(solved, solved)
""")


def accused(function):
    return levels(examined(function, Input("x", shape=(7,), value=(0.3, -1.2, 0.8, 1.9, -0.4, 0.1, 1.1)))).get(
        "GRADIENT"
    )


def test_chance_is_no_wrong_gradient_and_what_is_wrong_in_every_draw_is():
    rounded_on_average = with_backward(lambda x: torch.floor(x + torch.rand_like(x)), lambda g, x: g)
    wrong = with_backward(lambda x: 2 * x + torch.randn_like(x), lambda g, x: g)
    assert [accused(each) == "error" for each in (Gamma, rounded_on_average, wrong)] == [
        False,
        False,
        True,
    ]


def test_a_matrix_that_its_name_calls_symmetric_stays_so():
    assert not [each for each in gradloupe.check(Distance).findings if (each.id, each.level) == ("GRADIENT", "error")]
