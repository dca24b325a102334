"""A smooth Function that costs some elementary functions a point, as an op to be measured (or dropped into ops/)."""

import math

import torch

from gradloupe.ops.op import Input, Op


class GELU(torch.autograd.Function):
    """The input, times the probability that a normal variable is below it."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        below = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        return grad_output * (below + x * torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi))


op = Op(
    function=GELU,
    title="GELU",
    group="Measured",
    forward=r"y = x \, \Phi(x)",
    backward=r"\mathrm{grad\_input} = \mathrm{grad\_output} \, (\Phi(x) + x \, \varphi(x))",
    inputs=(Input("x", "what is weighed", domain=(-4.0, 4.0)),),
    reference="Hendrycks, Gimpel, Gaussian Error Linear Units, 2016",
)
