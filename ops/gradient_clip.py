import torch

from .op import Descent, Input, Op, Parameter


class GradientClip(torch.autograd.Function):
    """In a recurrent network a gradient may grow with every step back in time until one update ruins
    everything. This layer changes nothing forward, and lets no gradient back that is larger than `limit`.

    `backward` holds each element of the gradient between −`limit` and `limit`.

    Drag `grad_output` from 0 upwards: the returned gradient follows until `limit` and then stays there. So
    twice the loss no longer means twice the gradient. For every `grad_output` the dotted line has another
    slope, and no single function has this gradient.
    """

    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-ctx.limit, ctx.limit), None


def less_steep(x, limit, grad_output):
    return x if abs(grad_output) <= limit else limit / abs(grad_output) * x


op = Op(
    function=GradientClip,
    title="Gradient clip",
    group="Gradient shaping",
    forward=r"y = x",
    backward=r"\mathrm{grad\_x} = \min(\max(\mathrm{grad\_output}, -\mathrm{limit}), \mathrm{limit})",
    inputs=(Input("x", "any number"),),
    parameters=(Parameter("limit", 0.5, 0.01, 2.0, "the largest gradient that leaves"),),
    surrogate=less_steep,
    surrogate_formula=r"\min\left(1, \frac{\mathrm{limit}}{|\mathrm{grad\_output}|}\right) \cdot x",
    descent=Descent(goal=0.0, lr=0.25, steps=24, at=2.5),
    reference="Pascanu, Mikolov and Bengio, On the difficulty of training recurrent neural networks, 2013 "
    "(there by the norm, here by element)",
)
