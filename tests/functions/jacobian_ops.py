"""Ops of several elements, as the texts of their files: a wrong one, one that cannot bear None, and a large one."""

HALF_SOFTMAX = '''
import torch
from .op import Input, Op


class HalfSoftmax(torch.autograd.Function):
    """Softmax, but for what every element does to the others."""

    @staticmethod
    def forward(ctx, x):
        y = torch.softmax(x, -1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)


op = Op(
    function=HalfSoftmax,
    title="Half a softmax",
    group="Newcomers",
    forward="y",
    backward="g",
    inputs=(Input("x", shape=(1, 4), value=(0.3, -0.5, 1.1, 0.9)),),
    broken="The Jacobian is not diagonal.",
)
'''

FORGETFUL = '''
import torch
from .op import Input, Op


class Forgetful(torch.autograd.Function):
    """Two outputs, gradients of which may be None."""

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, grad_double, grad_triple):
        return grad_double * 2 + grad_triple * 3


op = Op(
    function=Forgetful,
    title="Forgetful",
    group="Newcomers",
    forward="y",
    backward="g",
    inputs=(Input("x"),),
    outputs=("double", "triple"),
    broken="It does not test for None.",
)
'''

BLOCKS = '''
import torch
from .op import Input, Op

WEIGHT = torch.linspace(0, 700, 15000, dtype=torch.float64).sin().reshape(150, 100) / 8


class Blocks(torch.autograd.Function):
    """A layer of 150 numbers to 100, with one entry off by a thousandth."""

    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x @ WEIGHT)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        wrong = WEIGHT.clone()
        wrong[140, 90] += 1e-3
        return grad_output * (1 - y * y) @ wrong.T


op = Op(
    function=Blocks,
    title="Blocks",
    group="Newcomers",
    forward="y",
    backward="g",
    inputs=(Input("x", shape=(1, 150), value=tuple(torch.linspace(0, 40, 150).cos().tolist())),),
    broken="One entry is off.",
)
'''
