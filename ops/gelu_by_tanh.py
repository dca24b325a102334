import math

import torch

from .op import Input, Op


class GELUByTanh(torch.autograd.Function):
    """If two people write the forward and the backward kernel, the two may belong to slightly different
    functions. So here: a GELU by a short cut, with the gradient of the exact one.

    The Gaussian error linear unit is x times the normal distribution function. Its usual approximation by a
    hyperbolic tangent is off by less than 0.0005. Here `forward` uses the approximation and `backward`
    the derivative of the exact function, the dotted curve, which lies under the ink of the other.

    The two gradients differ by 0.001 at most: much too little to matter in training, and much more than
    rounding. The eye cannot see it, and the page says so nevertheless.
    """

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        below = 0.5 * torch.erfc(-x / math.sqrt(2))
        density = torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)
        return grad_output * (below + x * density)


def gelu(x):
    return x * 0.5 * torch.erfc(-x / math.sqrt(2))


op = Op(
    function=GELUByTanh,
    title="GELU by tanh, its gradient exact",
    group="Activations",
    forward=r"y = \frac{x}{2} \left(1 + \tanh\left(\sqrt{2 / \pi} \, (x + 0.044715 \, x^3)\right)\right)",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot "
    r"\left(\Phi(x) + x \, \frac{e^{-x^2 / 2}}{\sqrt{2 \pi}}\right)",
    inputs=(Input("x", "any number", domain=(-4.0, 4.0)),),
    surrogate=gelu,
    surrogate_formula=r"x \, \Phi(x)",
    reference="Hendrycks and Gimpel, Gaussian Error Linear Units (GELUs), 2016",
)
