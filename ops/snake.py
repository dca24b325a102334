import torch

from .op import Input, Op, Parameter


class Snake(torch.autograd.Function):
    """A network of ReLUs continues a periodic signal with a straight line. This activation has a wave in
    it, so that a network can learn to repeat.

    To the identity it adds a squared sine. It never falls: the slope is 1 + sin(2ax), which touches 0
    once in every period and never goes below.

    Drag `a`: the waves become shorter and lower, the slope keeps swinging between 0 and 2. Where it is 0
    the curve has a level point but no minimum.
    """

    @staticmethod
    def forward(ctx, x, a):
        ctx.a = a
        ctx.save_for_backward(x)
        return x + torch.sin(a * x) ** 2 / a

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (1 + torch.sin(2 * ctx.a * x)), None


op = Op(
    function=Snake,
    title="Snake",
    group="Activations",
    forward=r"y = x + \frac{\sin^2(a x)}{a}",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot (1 + \sin(2 a x))",
    inputs=(Input("x", "any number", domain=(-4.0, 4.0)),),
    parameters=(Parameter("a", 2.0, 0.2, 10.0, "frequency of the wave"),),
    reference="Ziyin, Hartwig and Ueda, Neural Networks Fail to Learn Periodic Functions and How to Fix It, 2020",
)
