import torch

from .op import Input, Op, Parameter


class Swish(torch.autograd.Function):
    """Smooth, unlike the ReLU, and not quite silent on the left: the input times its own sigmoid. Deep
    networks often train better with it.

    The sigmoid acts as a gate that opens with x. The gradient has two parts, one from the input and one
    from the gate, and their sum overshoots. It rises to about 1.1 before it settles at 1, and falls below
    0 on the left, where the curve goes down.

    Drag `beta`. Towards 0 the gate stands half open and the curve becomes the line x/2. For a large `beta`
    it snaps open at 0 and the curve becomes the ReLU. The lowest and the highest gradient stay the same
    and only move closer to 0.
    """

    @staticmethod
    def forward(ctx, x, beta):
        ctx.beta = beta
        ctx.save_for_backward(x)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        gate = torch.sigmoid(ctx.beta * x)
        return grad_output * gate * (1 + ctx.beta * x * (1 - gate)), None


op = Op(
    function=Swish,
    title="Swish",
    group="Activations",
    forward=r"y = x \, \sigma(\beta x)",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot \sigma(\beta x) \, "
    r"(1 + \beta x \, (1 - \sigma(\beta x)))",
    inputs=(Input("x", "any number", domain=(-5.0, 5.0)),),
    parameters=(Parameter("beta", 1.0, 0.1, 5.0, "how fast the gate opens"),),
    reference="Ramachandran, Zoph and Le, Searching for Activation Functions, 2017",
)
