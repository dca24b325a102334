import torch

from .op import Input, Op


class Softmax(torch.autograd.Function):
    """A classifier gives scores, and one would like probabilities: positive numbers that add up to 1 in
    every row. Softmax makes them.

    Every output depends on every score of its row, because all share the same sum. Written as a matrix the
    derivative is diag(y) − yyᵀ, but `backward` never forms it. It takes the mean of `grad_output`,
    weighted by the probabilities, away from each entry and multiplies by the probability. Subtracting the
    maximum first changes no result and keeps the exponentials from overflowing.

    The page moves `x[0,0]` and watches its own probability, an S-curve with a bell as its slope. Watch
    `y[0,1]` instead: it falls, because what one score gains the others lose. The slopes of all outputs add
    up to 0.
    """

    @staticmethod
    def forward(ctx, x):
        e = torch.exp(x - x.amax(dim=-1, keepdim=True))
        y = e / e.sum(dim=-1, keepdim=True)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        mean = (grad_output * y).sum(dim=-1, keepdim=True)
        return y * (grad_output - mean)


op = Op(
    function=Softmax,
    title="Softmax",
    group="Vectors and matrices",
    forward=r"y_{bi} = \frac{e^{x_{bi}}}{\sum_j e^{x_{bj}}}",
    backward=r"\mathrm{grad\_x}_{bi} = y_{bi} \, "
    r"\left(\mathrm{grad\_output}_{bi} - \sum_j \mathrm{grad\_output}_{bj} \, y_{bj}\right)",
    inputs=(Input("x", "a row of scores", shape=(1, 4), domain=(-4.0, 4.0), value=(0.0, 1.0, -1.0, 0.5)),),
    wrt="x[0,0]",
    of="y[0,0]",
    reference="Bridle, Probabilistic Interpretation of Feedforward Classification Network Outputs, with "
    "Relationships to Statistical Pattern Recognition, 1990",
)
