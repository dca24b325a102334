import torch

from .op import Descent, Input, Op


class SignQuadratic(torch.autograd.Function):
    """To train with signs one puts a stand-in for them into the backward pass, and a clamp is a crude
    one. Two joined parabolas come closer; their slope is the gradient here.

    The two arcs, one on each side of 0, leave −1 without a kink, are steepest at 0 and arrive at 1
    without a kink. Their slope is a triangle of height 2 and width 2, and `backward` returns that
    triangle.

    The area of the triangle is 2, by which the sign rises as well. Compare it with "Straight-through sign,
    clipped": the same area, spread evenly there, gathered around 0 here, where a small change can still
    flip the sign.
    """

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sign()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (2 - 2 * x.abs()).clamp(min=0)


def two_parabolas(x):
    inside = x.clamp(-1, 1)
    return inside * (2 - inside.abs())


op = Op(
    function=SignQuadratic,
    title="Sign with a piecewise quadratic surrogate",
    group="Straight-through and surrogates",
    forward=r"y = \mathrm{sign}(x)",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot \max(0, 2 - 2 \left|x\right|)",
    inputs=(Input("x", "what is made binary"),),
    surrogate=two_parabolas,
    surrogate_formula=r"c \, (2 - \left|c\right|), \quad c = \min(\max(x, -1), 1)",
    descent=Descent(goal=1.0, lr=0.125, steps=12, at=-0.75),
    reference="Liu et al., Bi-Real Net: Enhancing the Performance of 1-bit CNNs, 2018",
)
