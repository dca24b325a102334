import torch

from .op import Descent, Input, Op


class StopGradient(torch.autograd.Function):
    """Some things should be used but not learned from: a target, a baseline, the other half of a pair of
    images. The value passes, the gradient does not.

    Forward is y = x; `backward` returns 0, the derivative of a constant, which is the dotted line. In
    PyTorch one writes `x.detach()`, which cuts the graph instead and saves the work.

    The two differ in what is left behind. A detached tensor gets no gradient at all, `None`; here it gets a
    tensor full of zeros. An optimiser skips the first and, with momentum or weight decay, still moves the
    second.
    """

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.zeros_like(grad_output)


def constant(x):
    return torch.zeros_like(x)


op = Op(
    function=StopGradient,
    title="Stop gradient",
    group="Gradient shaping",
    forward=r"y = x",
    backward=r"\mathrm{grad\_x} = 0",
    inputs=(Input("x", "any number"),),
    surrogate=constant,
    surrogate_formula=r"0",
    descent=Descent(goal=0.0, lr=0.25, steps=12, at=2.0),
    reference="Chen and He, Exploring Simple Siamese Representation Learning, 2021",
)
