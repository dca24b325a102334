import torch

from .op import Input, Op, Parameter


class TopKMask(torch.autograd.Function):
    """Which connections of a network are worth keeping? The `k` largest scores of a row are, for now, and
    gradient reaches all, so that the choice can still change.

    The output is 1 at the `k` largest scores and 0 at the others: a mask that says which weights of a
    network are used. Its derivative is 0 almost everywhere, so `backward` hands `grad_output` on unchanged
    and every score learns, also those that are not chosen now.

    The page moves `x[0,0]`. It is chosen from the point on where it overtakes the weakest of those it
    competes with. Raise `k` and that point moves to the left; with `k` at 6 everything is chosen and the
    output stands still, whatever the scores.
    """

    @staticmethod
    def forward(ctx, x, k):
        chosen = x.topk(k, dim=-1).indices
        return torch.zeros_like(x).scatter(-1, chosen, 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


def identity(x, k):
    return x


op = Op(
    function=TopKMask,
    title="Straight-through top-k mask",
    group="Straight-through and surrogates",
    forward=r"y_{bi} = [x_{bi} \text{ is one of the } k \text{ largest of row } b]",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output}",
    inputs=(Input("x", "a row of scores", shape=(1, 6), value=(0.0, 2.0, 1.5, 0.5, -0.5, -1.5)),),
    parameters=(Parameter("k", 3, 1, 6, "how many are chosen", kind="int"),),
    surrogate=identity,
    surrogate_formula=r"x_{bi}",
    wrt="x[0,0]",
    of="y[0,0]",
    reference="Ramanujan et al., What’s Hidden in a Randomly Weighted Neural Network?, 2020",
)
