import math

import torch

from .op import Descent, Input, Op, Parameter


class HeavisideAtan(torch.autograd.Function):
    """A spiking neuron far below its threshold should still learn a little. Its step has no slope, so
    `backward` returns that of an arc tangent, which has long tails.

    The neuron fires where its potential is not negative. `backward` returns the slope of the dotted
    curve, an arc tangent scaled to run from 0 to 1.

    Drag `alpha`: the peak is `alpha`/2. Compare it with the sigmoid surrogate at the same height. The
    tails of this slope fall off like 1/x², much more slowly than those of the sigmoid. So a neuron far
    below its threshold still learns a little.
    """

    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        ctx.save_for_backward(x)
        return (x >= 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        z = math.pi / 2 * ctx.alpha * x
        return grad_output * ctx.alpha / 2 / (1 + z**2), None


def scaled_atan(x, alpha):
    return torch.atan(math.pi / 2 * alpha * x) / math.pi + 0.5


op = Op(
    function=HeavisideAtan,
    title="Heaviside with an arc tangent surrogate",
    group="Straight-through and surrogates",
    forward=r"y = [x \ge 0]",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot "
    r"\frac{\alpha / 2}{1 + \left(\frac{\pi}{2} \alpha x\right)^2}",
    inputs=(Input("x", "potential above the threshold"),),
    parameters=(Parameter("alpha", 2.0, 0.5, 10.0, "steepness of the arc tangent"),),
    surrogate=scaled_atan,
    surrogate_formula=r"\frac{1}{\pi} \arctan\left(\frac{\pi}{2} \alpha x\right) + \frac{1}{2}",
    descent=Descent(goal=1.0, lr=0.5, steps=24, at=-1.0),
    reference="Fang et al., Incorporating Learnable Membrane Time Constant to Enhance Learning of Spiking Neural "
    "Networks, 2021",
)
