"""Several inputs: gradients in the wrong order, and factors that another input or a parameter holds."""

import pytest
import torch
from functions.basics import with_backward
from support.sections import explanation, op_of

from gradloupe.ops import Input, Parameter

cos, exp, sin = torch.cos, torch.exp, torch.sin


def of_two(value, backward, **words):
    """An op of u and v, held at 2, with both gradients written by hand."""
    return op_of(with_backward(value, backward).apply, Input("u"), Input("v", value=2.0), **words)


@pytest.mark.parametrize("grad_output", [1.0, -1.0, 2.5])
@pytest.mark.parametrize("wrt", ["u", "v"])
@pytest.mark.parametrize(
    ("value", "backward"),
    [
        (lambda u, v: u * v**2, lambda g, u, v: (g * 2 * u * v, g * v**2)),
        (lambda u, v: sin(u) * exp(v), lambda g, u, v: (g * sin(u) * exp(v), g * cos(u) * exp(v))),
    ],
)
def test_gradients_returned_in_the_wrong_order_are_told(value, backward, wrt, grad_output):
    story = explanation(of_two(value, backward), wrt=wrt, grad_output=grad_output)
    other = "v" if wrt == "u" else "u"
    assert story.kind == "swapped"
    assert (
        f"returns for {wrt} is the derivative of forward with respect to {other}, and the other way" in story.sentence
    )


def test_one_gradient_in_the_place_of_another_is_no_swap_of_both():
    story = explanation(of_two(lambda u, v: u * v**2, lambda g, u, v: (g * 2 * u * v, g * 2 * u * v)))
    assert story.kind == "swapped"
    assert "the other way round" not in story.sentence


def test_what_is_nearly_the_gradient_of_another_input_is_not_swapped():
    story = explanation(of_two(lambda u, v: u * v**2, lambda g, u, v: (g * 2.01 * u * v, g * v**2)))
    assert story.kind == "extra factor"


@pytest.mark.parametrize(("power", "said"), [(0, "a factor v is missing"), (2, "a factor v is too many")])
def test_a_factor_that_another_input_holds_is_called_by_its_name(power, said):
    op = of_two(lambda u, v: sin(u) * v, lambda g, u, v: (g * cos(u) * v**power, g * sin(u)))
    assert said in explanation(op).sentence
    assert said in explanation(op, v=(-1.7,)).sentence


def test_a_number_that_only_happens_to_be_what_an_input_holds_is_not_called_by_its_name():
    op = of_two(lambda u, v: sin(u) * v, lambda g, u, v: (g * cos(u) * v * 2, g * sin(u)))
    assert explanation(op).sentence == "backward returns 2 times the slope of forward everywhere."


def test_a_factor_that_a_parameter_holds_is_called_by_its_name():
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            return x * scale

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output, None

    op = op_of(Scaled.apply, Input("x"), parameters=(Parameter("scale", 2.0, 0.0, 3.0),))
    assert "a factor scale is missing" in explanation(op).sentence
