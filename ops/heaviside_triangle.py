import torch

from .op import Descent, Input, Op, Parameter


class HeavisideTriangle(torch.autograd.Function):
    """In a large spiking network one would like to compute gradients only for neurons that are close to
    firing. This triangle gives all others exactly 0.

    The triangle is as high as it has to be for its area to be 1, the rise of the step: 1/`reach`. Beyond
    `reach` on either side the gradient is exactly 0, so most neurons cost nothing in the backward pass.

    Drag `reach`: a narrow triangle is a better likeness of the step, a wide one teaches more neurons. The
    dotted curve, made of two parabolas, is the function whose slope the triangle is.
    """

    @staticmethod
    def forward(ctx, x, reach):
        ctx.reach = reach
        ctx.save_for_backward(x)
        return (x >= 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (1 - x.abs() / ctx.reach).clamp(min=0) / ctx.reach, None


def two_parabolas(x, reach):
    z = (x / reach).clamp(-1, 1)
    return 0.5 + z - z * z.abs() / 2


op = Op(
    function=HeavisideTriangle,
    title="Heaviside with a triangular surrogate",
    group="Straight-through and surrogates",
    forward=r"y = [x \ge 0]",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot "
    r"\frac{\max(0, 1 - \left|x\right| / \mathrm{reach})}{\mathrm{reach}}",
    inputs=(Input("x", "potential above the threshold"),),
    parameters=(Parameter("reach", 1.0, 0.2, 3.0, "how far from the threshold gradient passes"),),
    surrogate=two_parabolas,
    surrogate_formula=r"\frac{1}{2} + z - \frac{z \left|z\right|}{2}, \quad "
    r"z = \min\left(\max\left(\frac{x}{\mathrm{reach}}, -1\right), 1\right)",
    descent=Descent(goal=1.0, lr=0.25, steps=12, at=-0.75),
    reference="Esser et al., Convolutional Networks for Fast, Energy-Efficient Neuromorphic Computing, 2016",
)
