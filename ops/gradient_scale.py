import torch

from .op import Descent, Input, Op, Parameter


class GradientScale(torch.autograd.Function):
    """Sometimes one part of a network should learn more slowly than the rest. This layer changes nothing
    forward and multiplies the gradient on the way back.

    Everything before this layer learns `scale` times as fast, everything after it as before. It is a
    learning rate for one part of a network, written into the graph. Speech models keep their convolutions
    almost still in this way while the rest is trained.

    Drag `scale`. The dotted line, `scale` · x, is the function whose derivative is returned. At 1 it is the
    forward curve and nothing is pretended; at 0 the gradient is stopped.
    """

    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale = scale
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.scale * grad_output, None


def scaled(x, scale):
    return scale * x


op = Op(
    function=GradientScale,
    title="Gradient scale",
    group="Gradient shaping",
    forward=r"y = x",
    backward=r"\mathrm{grad\_x} = \mathrm{scale} \cdot \mathrm{grad\_output}",
    inputs=(Input("x", "any number"),),
    parameters=(Parameter("scale", 0.1, 0.0, 5.0, "what the gradient is multiplied by"),),
    surrogate=scaled,
    surrogate_formula=r"\mathrm{scale} \cdot x",
    descent=Descent(goal=0.0, lr=0.25, steps=40, at=2.0),
    reference="Ott et al., fairseq: A Fast, Extensible Toolkit for Sequence Modeling, 2019 (GradMultiply)",
)
