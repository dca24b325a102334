import torch

from .op import Input, Op


class OutputIgnored(torch.autograd.Function):
    """A loss on the second output trains nothing, and there is no error. A specimen: two outputs, but
    gradient comes back from the first alone.

    `backward` is given a gradient for each output and has to use both. Here that of the second is never
    read. A loss on the first output learns, one on the second does not learn at all. With a loss on both,
    half of the gradient is missing.

    The page watches `second`: the parabola has a slope, and what comes back is 0. Watch `first` and everything
    is right, so a test of the first output alone is passed.
    """

    @staticmethod
    def forward(ctx, x):
        return 2 * x, x**2

    @staticmethod
    def backward(ctx, grad_first, grad_second):
        return grad_first * 2


op = Op(
    function=OutputIgnored,
    title="An output that is ignored",
    group="Specimens",
    forward=r"\mathrm{first} = 2 x, \quad \mathrm{second} = x^2",
    backward=r"\mathrm{grad\_x} = 2 \cdot \mathrm{grad\_first}",
    inputs=(Input("x", "any number"),),
    outputs=("first", "second"),
    of="second",
    broken="The gradient of the second output is never used, although that output moves with x.",
    check="OUTPUT-GRAD-IGNORED",
    reference="PyTorch documentation, Extending torch.autograd",
)
