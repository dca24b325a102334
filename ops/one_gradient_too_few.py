import torch

from .op import Input, Op, Parameter


class OneGradientTooFew(torch.autograd.Function):
    """`forward` got a new argument, `backward` was not told, and the first training step stops with an
    error. A specimen: two arguments, one gradient.

    The output is `factor` · x and the gradient is right. But `backward` has to return one value for every
    argument that `forward` was given, and `None` for each that is not a tensor. Autograd counts, finds one
    where it expected two, and raises an error.

    This is the kindest of all mistakes, because it cannot be overlooked.
    """

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return factor * x

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.factor * grad_output


op = Op(
    function=OneGradientTooFew,
    title="One gradient too few",
    group="Specimens",
    forward=r"y = \mathrm{factor} \cdot x",
    backward=r"\mathrm{grad\_x} = \mathrm{factor} \cdot \mathrm{grad\_output}",
    inputs=(Input("x", "any number"),),
    parameters=(Parameter("factor", 2.0, -3.0, 3.0, "what x is multiplied by"),),
    broken="backward returns one value where forward took two arguments; None is missing for the factor.",
    check="GRAD-COUNT",
    reference="PyTorch documentation, Extending torch.autograd",
)
