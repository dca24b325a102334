"""Ops of several elements, as the texts of their files: a wrong one, one that cannot bear None, and a large one."""

from support.written_functions import class_source


def _file(methods: str, name: str, broken: str, inputs: str, before: str = "", more: str = "") -> str:
    return f"""
import torch
from gradloupe.ops import Input, Op
{before}

{class_source(methods, name)}

op = Op({name}, "{name}", "Newcomers", "y", "g", ({inputs},), broken="{broken}"{more})
"""


# What every element does to the others is left out.
HALF_SOFTMAX = _file(
    """
    def forward(ctx, x):
        y = torch.softmax(x, -1)
        ctx.save_for_backward(y)
        return y
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)
    """,
    "HalfSoftmax",
    "The Jacobian is not diagonal.",
    'Input("x", shape=(1, 4), value=(0.3, -0.5, 1.1, 0.9))',
)

FORGETFUL = _file(
    """
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3
    def backward(ctx, grad_double, grad_triple):
        return grad_double * 2 + grad_triple * 3
    """,
    "Forgetful",
    "It does not test for None.",
    'Input("x")',
    more=', outputs=("double", "triple")',
)

# A layer of 150 numbers to 100, with one entry off by a thousandth.
BLOCKS = _file(
    """
    def forward(ctx, x):
        y = torch.tanh(x @ WEIGHT)
        ctx.save_for_backward(y)
        return y
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        wrong = WEIGHT.clone()
        wrong[140, 90] += 1e-3
        return grad_output * (1 - y * y) @ wrong.T
    """,
    "Blocks",
    "One entry is off.",
    'Input("x", shape=(1, 150), value=tuple(torch.linspace(0, 40, 150).cos().tolist()))',
    before="\nWEIGHT = torch.linspace(0, 700, 15000, dtype=torch.float64).sin().reshape(150, 100) / 8",
)
