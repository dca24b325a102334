import torch
from torch.autograd.function import once_differentiable

from .op import Input, Op


class TanhOnceDifferentiable(torch.autograd.Function):
    """A wrong second derivative is worse than none. This hyperbolic tangent says openly that it cannot be
    differentiated twice.

    `forward` saves an intermediate result, the slope 1 − y², that is neither an input nor an output. To
    autograd it is a constant, so a second derivative would silently come out as 0. The decorator
    `once_differentiable` on `backward` declares that the question must not be asked.

    How much it protects depends on how one asks. `.backward()` through the gradient raises an error, if
    `grad_output` itself requires a gradient; otherwise the gradient just has no graph. The first
    derivative is right in any case, and that is what the curves show.
    """

    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(1 - y**2)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (slope,) = ctx.saved_tensors
        return grad_output * slope


op = Op(
    function=TanhOnceDifferentiable,
    title="Tanh, once differentiable",
    group="Second derivatives",
    forward=r"y = \tanh \, x",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot (1 - y^2)",
    inputs=(Input("x", "any number"),),
    reference="PyTorch documentation, torch.autograd.function.once_differentiable",
)
