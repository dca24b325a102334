import torch

from .op import Input, Op, Parameter


class LeakyReLU(torch.autograd.Function):
    """A ReLU that is off for all of its inputs gets no gradient and stays off. This one still passes a
    little, so that it can recover.

    Negative inputs are not cut away but multiplied by a small `slope`, and so is their gradient. Such a
    unit learns slowly instead of not at all.

    Drag `slope`. At 0 it is the ReLU; at 1 the kink is gone and the line is straight. At the kink itself
    this code answers `slope`, one end of the interval of subgradients; `torch.nn.functional.leaky_relu`
    does the same.
    """

    @staticmethod
    def forward(ctx, x, slope):
        ctx.slope = slope
        ctx.save_for_backward(x)
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, grad_output, ctx.slope * grad_output), None


op = Op(
    function=LeakyReLU,
    title="Leaky ReLU",
    group="Clamps and ReLUs",
    forward=r"y = x \text{ if } x > 0, \text{ else } \mathrm{slope} \cdot x",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \text{ if } x > 0, "
    r"\text{ else } \mathrm{slope} \cdot \mathrm{grad\_output}",
    inputs=(Input("x", "what is rectified"),),
    parameters=(Parameter("slope", 0.1, 0.0, 1.0, "slope on the left of 0"),),
    reference="Maas, Hannun and Ng, Rectifier Nonlinearities Improve Neural Network Acoustic Models, 2013",
)
