import torch

from .op import Descent, Input, Op, Parameter

LOWEST, HIGHEST = -8, 7


class FakeQuantize(torch.autograd.Function):
    """A weight that is stored in four bits gets rounded, and a network that was trained without the
    rounding suffers from it. This one rounds during training, so that the network gets used to it.

    The sixteen levels −8 … 7 times `scale` are all that an int4 weight can be. They go on in floating
    point. `backward` passes `grad_output` to what was rounded to a level and stops it where the input
    fell outside of the range.

    The window is half a step wider at each end than the outermost levels, because that far out an input
    still rounds to them. Drag `scale`: a fine scale means a short range. Note that it is not symmetric:
    four bits hold one more negative number than positive ones.
    """

    @staticmethod
    def forward(ctx, x, scale):
        level = (x / scale).round()
        ctx.save_for_backward((level >= LOWEST) & (level <= HIGHEST))
        return level.clamp(LOWEST, HIGHEST) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None


def clamp(x, scale):
    return x.clamp((LOWEST - 0.5) * scale, (HIGHEST + 0.5) * scale)


op = Op(
    function=FakeQuantize,
    title="Fake quantisation to int4",
    group="Quantisers",
    forward=r"y = \mathrm{scale} \cdot \min(\max(q, -8), 7), \quad q = \mathrm{round}(x / \mathrm{scale})",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot [-8 \le q \le 7]",
    inputs=(Input("x", "what is quantised"),),
    parameters=(Parameter("scale", 0.25, 0.05, 1.0, "the distance of two levels"),),
    surrogate=clamp,
    surrogate_formula=r"\min(\max(x, -8.5 \cdot \mathrm{scale}), 7.5 \cdot \mathrm{scale})",
    descent=Descent(goal=-1.0, lr=0.125, steps=12, at=1.5),
    reference="Jacob et al., Quantization and Training of Neural Networks for Efficient "
    "Integer-Arithmetic-Only Inference, 2018",
)
