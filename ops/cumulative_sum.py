import torch

from .op import Input, Op


class CumulativeSum(torch.autograd.Function):
    """Running totals turn steps into positions and densities into distributions. Their gradient is a
    running total too, from the other end.

    Output number i is the sum of all inputs up to i. So an input counts in its own total and in all that
    come after it. Its gradient is the sum of those `grad_output`s: a cumulative sum from the other end. As
    a matrix, forward is a lower triangle of ones and backward its transpose.

    The page moves `x[0,1]` and watches `y[0,2]`: a straight line of slope 1. Watch `y[0,0]` and the slope is 0, for
    that total was finished before. Open the Jacobian to see the whole triangle.
    """

    @staticmethod
    def forward(ctx, x):
        return x.cumsum(dim=-1)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.flip(-1).cumsum(dim=-1).flip(-1)


op = Op(
    function=CumulativeSum,
    title="Cumulative sum",
    group="Vectors and matrices",
    forward=r"y_{bi} = \sum_{j \le i} x_{bj}",
    backward=r"\mathrm{grad\_x}_{bj} = \sum_{i \ge j} \mathrm{grad\_output}_{bi}",
    inputs=(Input("x", "a row of numbers", shape=(1, 4), value=(1.0, 0.5, -1.0, 2.0)),),
    wrt="x[0,1]",
    of="y[0,2]",
    reference="Blelloch, Prefix Sums and Their Applications, 1990",
)
