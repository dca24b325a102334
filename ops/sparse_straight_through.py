import torch

from .op import Input, Op, Parameter


class SparseStraightThrough(torch.autograd.Function):
    """Pruning sets small weights to zero, perhaps too early. These go on learning all the same, and can
    come back.

    Pruning keeps what is larger than `threshold` and replaces the rest by 0. The derivative of that is 0 for
    every pruned weight, which could then never come back. `backward` passes `grad_output` on to all of them,
    as if nothing had been pruned.

    Outside the dead zone forward really is y = x, and the two gradients agree. Only between −`threshold` and
    `threshold` is a gradient returned for an output that does not move. Drag `threshold` to 0 and the
    difference is gone.
    """

    @staticmethod
    def forward(ctx, x, threshold):
        return x * (x.abs() > threshold)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


def identity(x, threshold):
    return x


op = Op(
    function=SparseStraightThrough,
    title="Straight-through pruning",
    group="Quantisers",
    forward=r"y = x \cdot [\left|x\right| > \mathrm{threshold}]",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output}",
    inputs=(Input("x", "a weight", domain=(-2.0, 2.0)),),
    parameters=(Parameter("threshold", 0.5, 0.0, 2.0, "what is not larger becomes 0"),),
    surrogate=identity,
    surrogate_formula=r"x",
    reference="Zhou et al., Learning N:M Fine-grained Structured Sparse Neural Networks From Scratch, 2021",
)
