import torch

from .op import Input, Op


class Exp(torch.autograd.Function):
    """The exponential makes any number positive, as a scale or a rate has to be. It is its own
    derivative, so `backward` can use what `forward` has just computed.

    The slope at x is the very number that `forward` has just computed. So `forward` saves its output instead
    of its input, and `backward` is a single multiplication. `save_for_backward` is the place for inputs and
    outputs of `forward`: it keeps their history, so that second derivatives come out right as well.

    Widen the range to see where numbers end. The exponential becomes infinite above x = 709.8 in float64,
    88.7 in float32 and 11.1 in float16. The gradient becomes infinite at the same point. A negative
    `grad_output` mirrors the gradient, and the forward curve stays as it is.
    """

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y


op = Op(
    function=Exp,
    title="Exponential",
    group="A first look",
    forward=r"y = e^x",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot y",
    inputs=(Input("x", "the exponent", domain=(-2.0, 2.0)),),
    reference="PyTorch documentation, torch.autograd.Function, since 2017",
)
