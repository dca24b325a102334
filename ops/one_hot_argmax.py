import torch

from .op import Input, Op


class OneHotArgmax(torch.autograd.Function):
    """A network that has to choose one of several options learns nothing from the choice itself, whose
    slope is 0. This one lets gradient reach all of the scores.

    Each row of the output is 1 at the largest score and 0 elsewhere: a decision. It does not change when the
    scores move a little, so its derivative is 0 and could not teach anybody to decide otherwise. `backward`
    hands `grad_output` on as if the scores themselves had been returned.

    The page moves `x[0,0]` and watches its own place in the output. That is 0 until it overtakes the
    largest of the others, which is held at 1, then 1. Watch `y[0,1]` and the jump goes down at the same
    point, yet the gradient is 0. For the straight-through estimator every output depends on its own input
    alone.
    """

    @staticmethod
    def forward(ctx, x):
        winner = x.argmax(dim=-1, keepdim=True)
        return torch.zeros_like(x).scatter(-1, winner, 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


def identity(x):
    return x


op = Op(
    function=OneHotArgmax,
    title="Straight-through argmax",
    group="Straight-through and surrogates",
    forward=r"y_{bi} = [x_{bi} = \max_j x_{bj}]",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output}",
    inputs=(Input("x", "a row of scores", shape=(1, 4), value=(0.5, 1.0, -1.0, 0.0)),),
    surrogate=identity,
    surrogate_formula=r"x_{bi}",
    wrt="x[0,0]",
    of="y[0,0]",
    reference="Jang, Gu and Poole, Categorical Reparameterization with Gumbel-Softmax, 2017 (without the noise)",
)
