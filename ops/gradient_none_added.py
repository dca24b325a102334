import torch

from .op import Input, Op


class GradientNoneAdded(torch.autograd.Function):
    """All is well until a loss uses only one of the two outputs; then `backward` stops with an error. A
    specimen: it adds two gradients, and one of them is missing.

    If the loss uses one output only, autograd fills in zeros for the gradient of the other. That can be
    switched off with `set_materialize_grads(False)`, which saves memory; then `None` arrives in their place.
    This `backward` switched it off and adds the two as if they were always tensors.

    As long as both outputs are used, everything works. The page watches one of them, and the multiplication
    of `None` fails. Each gradient has to be asked for first: `if grad_second is not None`.
    """

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return 2 * x, 3 * x

    @staticmethod
    def backward(ctx, grad_first, grad_second):
        return grad_first * 2 + grad_second * 3


op = Op(
    function=GradientNoneAdded,
    title="A gradient that is None",
    group="Specimens",
    forward=r"\mathrm{first} = 2 x, \quad \mathrm{second} = 3 x",
    backward=r"\mathrm{grad\_x} = 2 \cdot \mathrm{grad\_first} + 3 \cdot \mathrm{grad\_second}",
    inputs=(Input("x", "any number"),),
    outputs=("first", "second"),
    of="first",
    broken="With set_materialize_grads(False) an unused output has the gradient None, and backward computes with it.",
    check="UNUSED-OUTPUT",
    reference="PyTorch documentation, FunctionCtx.set_materialize_grads",
)
