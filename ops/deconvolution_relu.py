import torch

from .op import Input, Op


class DeconvolutionReLU(torch.autograd.Function):
    """Which part of an image makes a neuron respond? An early answer: send its signal back through the
    network, with a ReLU for every ReLU.

    Such a "deconvolutional" network runs another one in reverse. Where that had a ReLU, the reverse one
    has a ReLU as well, applied to the signal that comes back. It does not look at x at all: gradient
    passes wherever it is positive, also through a unit that is off.

    Flip the sign of `grad_output` and everything is stopped. Compare it with "Guided ReLU", which asks both
    questions, and with "ReLU", which only asks whether the unit is on.
    """

    @staticmethod
    def forward(ctx, x):
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(min=0)


def identity_or_constant(x, grad_output):
    return x if grad_output > 0 else torch.zeros_like(x)


op = Op(
    function=DeconvolutionReLU,
    title="Deconvolution ReLU",
    group="Gradient shaping",
    forward=r"y = \max(0, x)",
    backward=r"\mathrm{grad\_x} = \max(0, \mathrm{grad\_output})",
    inputs=(Input("x", "what is rectified"),),
    surrogate=identity_or_constant,
    surrogate_formula=r"x \text{ if } \mathrm{grad\_output} > 0, \text{ else } 0",
    reference="Zeiler and Fergus, Visualizing and Understanding Convolutional Networks, 2014",
)
