import torch

from .op import Input, Op


class Double(torch.autograd.Function):
    """What a custom Function is, in the smallest example there is: it multiplies by two, and says itself
    what its gradient is.

    A custom Function is a pair of static methods. `forward` computes the output. `backward` is given
    `grad_output`, the gradient of the loss with respect to that output. It returns the gradient of the
    loss with respect to the input. The slope here is 2 at every x, so nothing has to be saved for
    `backward`.

    Try other values of `grad_output`. At 1 the gradient is 2, at −1 it is −2, at 0 it vanishes. What
    `backward` returns is never the slope alone but the slope times `grad_output`: one link of the chain rule.
    """

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2


op = Op(
    function=Double,
    title="Double",
    group="A first look",
    forward=r"y = 2 x",
    backward=r"\mathrm{grad\_x} = 2 \cdot \mathrm{grad\_output}",
    inputs=(Input("x", "any number"),),
    reference="“Custom Autograd Functions in PyTorch”, a tutorial, 2024",
)
