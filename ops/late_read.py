import torch

from .op import Input, Op


class LateRead(torch.autograd.Function):
    """A schedule changes a factor between the forward and the backward pass, and the gradient no longer
    belongs to the output. A specimen: `backward` reads the factor when it is too late.

    `forward` multiplies by the class attribute `scale`, and so does `backward`, but later. Whoever changes
    the attribute in between gets the output of one Function and the gradient of another.

    As long as nobody touches the attribute the curves agree. What is needed in `backward` has to be noted
    on `ctx` in `forward`: `ctx.scale = LateRead.scale`.
    """

    scale = 2.0

    @staticmethod
    def forward(ctx, x):
        return LateRead.scale * x

    @staticmethod
    def backward(ctx, grad_output):
        return LateRead.scale * grad_output


op = Op(
    function=LateRead,
    title="A factor read too late",
    group="Specimens",
    forward=r"y = \mathrm{scale} \cdot x",
    backward=r"\mathrm{grad\_x} = \mathrm{scale}_{\text{now}} \cdot \mathrm{grad\_output}",
    inputs=(Input("x", "any number"),),
    broken="backward reads a class attribute that may have changed since forward.",
    check="LATE-READ",
    reference="PyTorch documentation, Extending torch.autograd",
)
