import torch

from .op import Input, Op, Parameter


class ELU(torch.autograd.Function):
    """A ReLU that is off learns nothing. This one turns into an exponential below zero, so a negative
    input still has a slope.

    On the left the curve falls towards −`alpha` and flattens. Its slope there is αeˣ, and as y = αeˣ − α,
    the slope is simply y + α. So `backward` needs no exponential, and `forward` saves nothing but its
    output.

    Drag `alpha`. At 1 the two pieces meet without a kink. Otherwise the slope at 0 is `alpha` on the left and
    1 on the right, and the page marks the kink.
    """

    @staticmethod
    def forward(ctx, x, alpha):
        y = torch.where(x > 0, x, alpha * torch.expm1(x))
        ctx.alpha = alpha
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return torch.where(y > 0, grad_output, grad_output * (y + ctx.alpha)), None


op = Op(
    function=ELU,
    title="ELU",
    group="Activations",
    forward=r"y = x \text{ if } x > 0, \text{ else } \alpha \, (e^x - 1)",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \text{ if } y > 0, "
    r"\text{ else } \mathrm{grad\_output} \cdot (y + \alpha)",
    inputs=(Input("x", "any number", domain=(-4.0, 3.0)),),
    parameters=(Parameter("alpha", 1.0, 0.1, 3.0, "how far below 0 the curve falls"),),
    reference="Clevert, Unterthiner and Hochreiter, Fast and Accurate Deep Network Learning by Exponential Linear "
    "Units (ELUs), 2016",
)
