import torch
from torch.nn.functional import softplus

from .op import Input, Op


class Mish(torch.autograd.Function):
    """A ReLU has a corner, and no gradient to the left of it. Mish is smooth, and small negative inputs
    still learn.

    Its gate is the hyperbolic tangent of the softplus. Like swish it follows the input on the right and
    fades out on the left. In between it dips below 0, to −0.31 at x = −1.19. The gradient is 0 there and
    negative to the left of it.

    `forward` saves x alone and `backward` computes gate and sigmoid again. Saving them too would be
    faster, but would hold three tensors instead of one until the backward pass. That is often what limits
    the size of a network.
    """

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.tanh(softplus(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        gate = torch.tanh(softplus(x))
        return grad_output * (gate + x * torch.sigmoid(x) * (1 - gate**2))


op = Op(
    function=Mish,
    title="Mish",
    group="Activations",
    forward=r"y = x \, \tanh(\log(1 + e^x))",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot (t + x \, \sigma(x) \, (1 - t^2)), "
    r"\quad t = \tanh(\log(1 + e^x))",
    inputs=(Input("x", "any number", domain=(-5.0, 5.0)),),
    reference="Misra, Mish: A Self Regularized Non-Monotonic Activation Function, 2019",
)
