import torch

from .op import Descent, Input, Op


class SignStraightThrough(torch.autograd.Function):
    """A weight of one bit is nothing but a sign, and a sign has no slope. Keep it on the way forward, and
    pretend on the way back that nothing happened.

    The sign is flat on both sides of its jump, so its derivative is 0 and useless for learning. The
    straight-through estimator hands `grad_output` on unchanged, which is the gradient of y = x.

    Widen the range: the dotted line rises forever while the sign stays at 1. Far from 0 a step of descent
    moves the input but not the output, and inputs may drift away without end. That is why most binary
    networks close the gradient beyond ±1; see "Straight-through sign, clipped".
    """

    @staticmethod
    def forward(ctx, x):
        return x.sign()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


def identity(x):
    return x


op = Op(
    function=SignStraightThrough,
    title="Straight-through sign",
    group="Straight-through and surrogates",
    forward=r"y = \mathrm{sign}(x)",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output}",
    inputs=(Input("x", "what is made binary"),),
    surrogate=identity,
    surrogate_formula=r"x",
    descent=Descent(goal=1.0, lr=0.125, steps=12, at=-1.5),
    reference="Bengio, Léonard and Courville, Estimating or Propagating Gradients Through Stochastic Neurons, 2013",
)
