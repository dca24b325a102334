import torch

from .op import Input, Op


class CubeWrongDoubleBackward(torch.autograd.Function):
    """A gradient penalty or a step of Newton's method would go wrong here, ordinary training would not. A
    specimen: the first derivative is right, the second only half of what it should be.

    As in "Cube with its own double backward", `backward` calls a second Function with a backward of its
    own. There the derivative of 3x² is written as 3x instead of 6x. The gradient shows nothing of that,
    and a network that is trained with first derivatives alone never runs that line.

    `gradcheck` passes. Only a check of second order finds it: `gradgradcheck`, or the second derivative of
    this page beside differences of the first.
    """

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return WrongCubeBackward.apply(grad_output, x)


class WrongCubeBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, grad_output, x):
        ctx.save_for_backward(grad_output, x)
        return grad_output * 3 * x**2

    @staticmethod
    def backward(ctx, grad_grad_x):
        grad_output, x = ctx.saved_tensors
        return grad_grad_x * 3 * x**2, grad_grad_x * grad_output * 3 * x


op = Op(
    function=CubeWrongDoubleBackward,
    title="Cube with a wrong double backward",
    group="Second derivatives",
    forward=r"y = x^3",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot 3 x^2",
    inputs=(Input("x", "any number", domain=(-2.0, 2.0)),),
    broken="The second derivative is half of what it should be: 3x is returned where 6x is right.",
    check="SECOND-ORDER",
    reference="After the PyTorch tutorials, Double Backward with Custom Functions, 2021",
)
