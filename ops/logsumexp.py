import torch

from .op import Input, Op


class LogSumExp(torch.autograd.Function):
    """The maximum of some scores sends gradient to the winner alone. This smooth maximum gives all of
    them their share, and the shares are the softmax.

    The largest exponential dominates the sum, and the logarithm brings it back to scale. For four scores
    the result lies between the largest score and that plus log 4. To keep the exponentials from
    overflowing the maximum is taken out first and added again at the end.

    The page moves `x[0,0]`. As long as it is small the output rests on the others; once it leads, the output
    follows it one for one. The slope tells how large a share this score has, a probability, and it is all
    that `backward` returns, times `grad_output`.
    """

    @staticmethod
    def forward(ctx, x):
        top = x.amax(dim=-1, keepdim=True)
        y = top + torch.log(torch.exp(x - top).sum(dim=-1, keepdim=True))
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return grad_output * torch.exp(x - y)


op = Op(
    function=LogSumExp,
    title="Log-sum-exp",
    group="Vectors and matrices",
    forward=r"y_b = \log \, \sum_j e^{x_{bj}}",
    backward=r"\mathrm{grad\_x}_{bi} = \mathrm{grad\_output}_b \, e^{x_{bi} - y_b}",
    inputs=(Input("x", "a row of scores", shape=(1, 4), domain=(-4.0, 4.0), value=(0.0, 1.0, -1.0, 0.5)),),
    wrt="x[0,0]",
    reference="Blanchard, Higham and Higham, Accurately computing the log-sum-exp and softmax functions, 2021",
)
