import torch

from .op import Descent, Input, Op


class SignStraightThroughClipped(torch.autograd.Function):
    """How binary networks are usually trained. Forward is the sign of a number; backward passes the
    gradient only near 0, where the sign can still change.

    `backward` returns `grad_output` where |x| ≤ 1 and 0 elsewhere. That is the derivative of a clamp to
    [−1, 1], the dotted curve. It rises by 2 from one end to the other, exactly as the sign does. So a step
    of descent promises no more than forward can keep.

    Outside the window an input gets no gradient and stays where it is: it is decided. The two kinks of the
    dotted curve are the edges of that window, and there the code answers 1.
    """

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sign()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1)


def clamp(x):
    return x.clamp(-1, 1)


op = Op(
    function=SignStraightThroughClipped,
    title="Straight-through sign, clipped",
    group="Straight-through and surrogates",
    forward=r"y = \mathrm{sign}(x)",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot [\left|x\right| \le 1]",
    inputs=(Input("x", "what is made binary"),),
    surrogate=clamp,
    surrogate_formula=r"\min(\max(x, -1), 1)",
    descent=Descent(goal=1.0, lr=0.0625, steps=12, at=-0.75),
    reference="Hubara, Courbariaux, Soudry, El-Yaniv and Bengio, Binarized Neural Networks, 2016",
)
