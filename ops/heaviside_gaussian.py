import math

import torch

from .op import Descent, Input, Op, Parameter


class HeavisideGaussian(torch.autograd.Function):
    """How can one differentiate a spike? Think of the threshold as noisy: then the mean output is smooth,
    and its slope is a Gaussian bell that can train the neuron.

    Blur the step with normally distributed noise of width `sigma`, and the mean output is the dotted curve,
    the normal distribution function. Its slope is the bell that `backward` returns. So this surrogate has a
    meaning: it is the true derivative of a neuron with a noisy threshold, averaged over the noise.

    Drag `sigma`. The area of the bell is always 1, the rise of the step, so less noise means a higher peak
    and a narrower reach.
    """

    @staticmethod
    def forward(ctx, x, sigma):
        ctx.sigma = sigma
        ctx.save_for_backward(x)
        return (x >= 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        bell = torch.exp(-0.5 * (x / ctx.sigma) ** 2)
        return grad_output * bell / (ctx.sigma * math.sqrt(2 * math.pi)), None


def normal_distribution(x, sigma):
    return 0.5 * torch.erfc(-x / (sigma * math.sqrt(2)))


op = Op(
    function=HeavisideGaussian,
    title="Heaviside with a Gaussian surrogate",
    group="Straight-through and surrogates",
    forward=r"y = [x \ge 0]",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot "
    r"\frac{1}{\sigma \sqrt{2 \pi}} \, e^{-x^2 / (2 \sigma^2)}",
    inputs=(Input("x", "potential above the threshold"),),
    parameters=(Parameter("sigma", 0.5, 0.1, 2.0, "width of the bell"),),
    surrogate=normal_distribution,
    surrogate_formula=r"\Phi\left(\frac{x}{\sigma}\right)",
    descent=Descent(goal=1.0, lr=0.25, steps=24, at=-1.0),
    reference="Yin, Corradi and Bohté, Accurate and efficient time-domain classification with adaptive spiking "
    "recurrent neural networks, 2021",
)
