"""A solver stops at its tolerance, so that forward jumps a little: its slope is known no better than that."""

import torch
from support.examined import examined, levels
from support.sections import look, op_of

from gradloupe.ops import Input

KEPLER = Input("x", value=0.7, domain=(-3, 3))


def kepler(tolerance, factor=1.0):
    """A Function that solves y = x + 0.2 sin y by iteration; its gradient is that of the solution, times a factor."""

    class Kepler(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x
            for _ in range(100):
                y, before = x + 0.2 * torch.sin(y), y
                if (y - before).abs().max() <= tolerance:
                    break
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad_output):
            (y,) = ctx.saved_tensors
            return factor * grad_output / (1 - 0.2 * torch.cos(y))

    return Kepler


def word(function):
    return look(op_of(function.apply, KEPLER), count=21)[1].word


def test_the_gradient_of_the_solution_is_right():
    assert word(kepler(1e-10)) == "matches"
    assert "GRADIENT" not in levels(examined(kepler(1e-10), KEPLER))


def test_one_that_is_off_by_more_than_forward_jumps_is_told():
    assert levels(examined(kepler(1e-10, 1 + 1e-6), KEPLER))["GRADIENT"] == "error"
    assert word(kepler(1e-8, 1.01)) == "differs"
