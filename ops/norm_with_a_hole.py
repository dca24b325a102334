import torch

from .op import Input, Op


class NormWithAHole(torch.autograd.Function):
    """One row of zeros in a batch, a padded word or a dead channel, and after one step the weights are
    nan. A specimen: a length whose gradient at the origin is 0/0.

    Everywhere else the gradient is x divided by the length, and right. At the origin that is not a
    number, and the gradients of all layers before it become nan as well.

    A test with random inputs never meets the origin. The page moves `x[0,0]` along a line through it. The
    fix is to ask first whether the length is 0, as "Euclidean norm" does.
    """

    @staticmethod
    def forward(ctx, x):
        norm = (x * x).sum(dim=-1, keepdim=True).sqrt()
        ctx.save_for_backward(x, norm)
        return norm

    @staticmethod
    def backward(ctx, grad_output):
        x, norm = ctx.saved_tensors
        return grad_output * x / norm


op = Op(
    function=NormWithAHole,
    title="Norm with a hole at zero",
    group="Specimens",
    forward=r"y_b = \sqrt{\sum_j x_{bj}^2}",
    backward=r"\mathrm{grad\_x}_{bi} = \mathrm{grad\_output}_b \cdot \frac{x_{bi}}{y_b}",
    inputs=(Input("x", "a row vector", shape=(1, 2), value=(0.0, 0.0)),),
    broken="At the origin backward divides 0 by 0 and returns nan, although forward is finite.",
    check="NONFINITE",
    wrt="x[0,0]",
    reference="PyTorch documentation, torch.linalg.vector_norm",
)
