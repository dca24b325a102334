import torch

from .op import Input, Op


class ReLU(torch.autograd.Function):
    """Without something that bends, a stack of linear layers is just one linear layer. The ReLU is the
    simplest bend: what is negative becomes 0, what is positive stays.

    The slope is 0 on the left and 1 on the right. So `backward` lets `grad_output` through where the unit
    is on and stops it where it is off. To know which, the output is enough: y is positive exactly where x
    is. That is why `forward` saves y, which the next layer keeps anyway, and x can be forgotten.

    At x = 0 there is a kink. Every number from 0 to 1 is a subgradient there, and this code answers 0, as
    `torch.relu` does. Move the range so that it ends below 0. A unit that is off for all of its inputs
    gets no gradient, and nothing ever turns it on again.
    """

    @staticmethod
    def forward(ctx, x):
        y = x.clamp(min=0)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (y > 0)


op = Op(
    function=ReLU,
    title="ReLU",
    group="Clamps and ReLUs",
    forward=r"y = \max(0, x)",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot [y > 0]",
    inputs=(Input("x", "what is rectified"),),
    reference="Nair and Hinton, Rectified Linear Units Improve Restricted Boltzmann Machines, 2010",
)
