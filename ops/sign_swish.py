import torch

from .op import Descent, Input, Op, Parameter


class SignSwish(torch.autograd.Function):
    """A weight that may only be −1 or 1 needs a slope that the sign does not have. Here it gets that of a
    smooth curve, which overshoots a little.

    The stand-in is made of the swish function and called SignSwish. It runs from −1 to 1 like the sign,
    and goes slightly beyond both before it settles. So its slope is a bell with a shallow negative trough
    on either side. An input in a trough is pushed back towards 0, where its sign can still change.

    Drag `beta`. The peak is `beta` high, and the higher it is the narrower the bell. The area below the
    whole curve remains 2, the rise of the sign.
    """

    @staticmethod
    def forward(ctx, x, beta):
        ctx.beta = beta
        ctx.save_for_backward(x)
        return x.sign()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        z = (ctx.beta * x).clamp(-50, 50)  # beyond, the slope is 0 to the last place
        bell = 2 * torch.sigmoid(z) * torch.sigmoid(-z)
        return grad_output * ctx.beta * bell * (2 - z * torch.tanh(z / 2)), None


def sign_swish(x, beta):
    z = (beta * x).clamp(-50, 50)
    sigmoid = torch.sigmoid(z)
    return 2 * sigmoid * (1 + z * torch.sigmoid(-z)) - 1


op = Op(
    function=SignSwish,
    title="Sign with the SignSwish surrogate",
    group="Straight-through and surrogates",
    forward=r"y = \mathrm{sign}(x)",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot "
    r"\frac{\beta \, (2 - \beta x \, \tanh(\beta x / 2))}{1 + \cosh(\beta x)}",
    inputs=(Input("x", "what is made binary"),),
    parameters=(Parameter("beta", 5.0, 0.5, 20.0, "steepness of the stand-in"),),
    surrogate=sign_swish,
    surrogate_formula=r"2 \, \sigma(\beta x) \, (1 + \beta x \, (1 - \sigma(\beta x))) - 1",
    descent=Descent(goal=1.0, lr=0.025, steps=24, at=-0.25),
    reference="Darabi, Belbahri, Courbariaux and Partovi Nia, BNN+: Improved Binary Network Training, 2018",
)
