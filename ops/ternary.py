import torch

from .op import Input, Op, Parameter


class Ternary(torch.autograd.Function):
    """A network whose weights are −1, 0 and 1 needs no multiplications. This rounds a weight to one of
    the three, and lets it go on learning.

    What is smaller than `threshold` becomes 0, of the rest only the sign remains, so that many terms of a
    sum vanish. `backward` passes `grad_output` straight through to the full-precision weight that is kept
    for training.

    Drag `threshold`: the dead zone opens, the two jumps move apart, and the gradient does not notice. At 0
    it is the straight-through sign.
    """

    @staticmethod
    def forward(ctx, x, threshold):
        return x.sign() * (x.abs() > threshold)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


def identity(x, threshold):
    return x


op = Op(
    function=Ternary,
    title="Ternary weights",
    group="Quantisers",
    forward=r"y = \mathrm{sign}(x) \cdot [\left|x\right| > \mathrm{threshold}]",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output}",
    inputs=(Input("x", "a weight"),),
    parameters=(Parameter("threshold", 0.7, 0.0, 2.0, "below it a weight becomes 0"),),
    surrogate=identity,
    surrogate_formula=r"x",
    reference="Li, Zhang and Liu, Ternary Weight Networks, 2016",
)
