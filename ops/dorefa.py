import torch

from .op import Descent, Input, Op, Parameter


class DoReFa(torch.autograd.Function):
    """Activations of a few bits make a network small and fast, but rounding has no slope to learn from.
    DoReFa rounds, and passes the gradient as if it only clipped.

    With k bits there are 2ᵏ levels, from 0 to 1 in equal steps. The staircase has no useful slope, so
    `backward` ignores the rounding but not the clipping. `grad_output` passes where the input lies between
    0 and 1 and is stopped outside.

    Drag `bits`: with each bit the stairs come closer to the dotted line, and the pretence becomes a smaller
    one. With 8 bits the steps can hardly be seen, and still the slope of forward is 0 on every one of them.
    """

    @staticmethod
    def forward(ctx, x, bits):
        ctx.save_for_backward(x)
        levels = 2**bits - 1
        return (x.clamp(0, 1) * levels).round() / levels

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ((x >= 0) & (x <= 1)), None


def clamp(x, bits):
    return x.clamp(0, 1)


op = Op(
    function=DoReFa,
    title="DoReFa quantiser",
    group="Quantisers",
    forward=r"y = \frac{\mathrm{round}((2^k - 1) \min(\max(x, 0), 1))}{2^k - 1}, \quad k = \mathrm{bits}",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot [0 \le x \le 1]",
    inputs=(Input("x", "what is quantised", domain=(-1.0, 2.0)),),
    parameters=(Parameter("bits", 2, 1, 8, "width of the code", kind="int"),),
    surrogate=clamp,
    surrogate_formula=r"\min(\max(x, 0), 1)",
    descent=Descent(goal=0.0, lr=0.125, steps=12, at=1.0),
    reference="Zhou et al., DoReFa-Net: Training Low Bitwidth Convolutional Neural Networks with Low Bitwidth "
    "Gradients, 2016",
)
