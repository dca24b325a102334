"""What backward does to grad_output, in words: it is forgotten, clipped, squared, heeded for its sign, added to."""

import pytest
import torch
from functions.basics import with_backward
from support.sections import explanation, op_of

cos, exp, sin, tanh = torch.cos, torch.exp, torch.sin, torch.tanh


def of_grad_output(value, backward):
    """An op of x whose backward may do to grad_output what it likes."""
    return op_of(with_backward(value, backward).apply)


OF_GRAD_OUTPUT = [
    ("grad_output forgotten", sin, lambda g, x: cos(x), "the bare slope of forward, the same for grad_output 0"),
    ("grad_output forgotten", sin, lambda g, x: sin(x), "it returns the same for grad_output 0"),
    ("sign of grad_output", sin, lambda g, x: g.abs() * cos(x), "loses the sign"),
    (
        "sign of grad_output",
        torch.relu,
        lambda g, x: g * (x > 0) * (g > 0),
        "for x > 0 it returns grad_output unchanged",
    ),
    (
        "sign of grad_output",
        lambda x: x.clamp(min=0.3),
        lambda g, x: g * ((x > 0.3) | (g < 0)),
        "for x < 0.3",
        "0 if that",
    ),
    ("clips", lambda x: 1 * x, lambda g, x: g.clamp(-0.1, 0.1), "clips grad_output at ±0.1"),
    ("clips", torch.square, lambda g, x: (g * 2 * x).clamp(-1, 1), "clips what it returns at ±1"),
    ("normalises", sin, lambda g, x: g.sign() * cos(x), "only its sign counts"),
    ("power of grad_output", sin, lambda g, x: g**2 * cos(x), "to the power 2"),
    ("power of grad_output", sin, lambda g, x: g**3 * cos(x), "to the power 3"),
    ("not in proportion", sin, lambda g, x: tanh(g) * cos(x), "not in proportion to grad_output"),
    ("added term", sin, lambda g, x: g * cos(x) + 0.01 * x, "grad_output 0 backward returns 0.01 x", "weight decay"),
    ("added term", exp, lambda g, x: g * exp(x) - 0.1, "returns −0.1: it adds a term that does not come from the loss"),
    ("random", sin, lambda g, x: g * cos(x) + 1e-3 * torch.randn_like(x), "called twice"),
    ("written to", sin, lambda g, x: g.mul_(cos(x)), "writes to grad_output"),
]


@pytest.mark.parametrize("grad_output", [1.0, -1.0, 2.5])
@pytest.mark.parametrize(("kind", "value", "backward", "words"), [(*row[:3], row[3:]) for row in OF_GRAD_OUTPUT])
def test_what_is_done_to_grad_output_is_told(kind, value, backward, words, grad_output):
    story = explanation(of_grad_output(value, backward), grad_output=grad_output)
    assert story.kind == kind
    for word in words:
        assert word in story.sentence


@pytest.mark.parametrize("kind", ["clips", "normalises", "power of grad_output"])
def test_what_is_squashed_is_not_said_to_be_clipped(kind):
    for grad_output in (1.0, 2.5):
        assert explanation(of_grad_output(sin, lambda g, x: tanh(g) * cos(x)), grad_output=grad_output).kind != kind
