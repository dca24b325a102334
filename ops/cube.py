import torch

from .op import Input, Op


class Cube(torch.autograd.Function):
    """Where `backward` runs code that autograd cannot see, a second derivative has to be written by hand.
    This cube shows how: its backward is a Function with a backward of its own.

    Autograd could differentiate 3x² by itself, but not a kernel in C++ or NumPy that stands in its place.
    So here `backward` calls a second Function, `CubeBackward`, that states the second derivative.

    `CubeBackward` is a function of two tensors, `grad_output` and `x`, so its own `backward` returns two
    gradients. They are 3x² for the first and 6x · `grad_output` for the second, each times what comes in.
    A wrong factor there leaves the first derivative as right as before. Only a test of second order, such
    as `gradgradcheck`, can find it.

    Note the point x = 0: the slope is 0 although the curve goes on rising on both sides. A vanishing
    gradient alone does not make a minimum.
    """

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return CubeBackward.apply(grad_output, x)


class CubeBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, grad_output, x):
        ctx.save_for_backward(grad_output, x)
        return grad_output * 3 * x**2

    @staticmethod
    def backward(ctx, grad_grad_x):
        grad_output, x = ctx.saved_tensors
        return grad_grad_x * 3 * x**2, grad_grad_x * grad_output * 6 * x


op = Op(
    function=Cube,
    title="Cube with its own double backward",
    group="Second derivatives",
    forward=r"y = x^3",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot 3 x^2",
    inputs=(Input("x", "any number", domain=(-2.0, 2.0)),),
    reference="PyTorch tutorials, Double Backward with Custom Functions, 2021",
)
