import torch

from .op import Input, Op


class WrongJVP(torch.autograd.Function):
    """Forward mode is seldom used, so a mistake in it may sleep for years. A specimen: the square, right
    backwards and wrong forwards.

    Besides `backward` a Function may have a `jvp`, which carries a small change of the input forward to the
    change of the output. Here it returns x · tangent where 2x · tangent is right. Everything that goes
    backwards, all of ordinary training, never calls it.

    The curves agree. The mistake shows as soon as someone uses forward mode: `torch.func.jvp`, `jacfwd`, a
    Hessian. `gradcheck` looks at it only if `check_forward_ad=True` is given.
    """

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x**2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 2 * x

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return x * tangent


op = Op(
    function=WrongJVP,
    title="Wrong in forward mode",
    group="Specimens",
    forward=r"y = x^2, \quad \mathrm{jvp} = x \cdot \mathrm{tangent}",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot 2 x",
    inputs=(Input("x", "any number"),),
    broken="jvp returns half of the directional derivative: forward mode disagrees with backward.",
    check="JVP",
    reference="PyTorch documentation, Extending torch.autograd, “Forward mode AD”",
)
