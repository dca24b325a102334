import torch

from .op import Input, Op


class SwappedGradients(torch.autograd.Function):
    """Two tensors are trained, each with the other's gradient, and there is no error. A specimen: both
    gradients are right, and returned in the wrong order.

    The output is u v². Its slopes are v² for u and 2uv for v, and both are computed correctly. But what
    `backward` returns first goes to the first argument of `forward`, and here that is the gradient of the
    second. Since both have the same shape, nothing complains.

    Sweep `u`: the slope of the line is 2.25 and what comes back is 3u, the gradient that `v` should get. Now
    sweep `v` and see the other half of the exchange.
    """

    @staticmethod
    def forward(ctx, u, v):
        ctx.save_for_backward(u, v)
        return u * v**2

    @staticmethod
    def backward(ctx, grad_output):
        u, v = ctx.saved_tensors
        grad_u, grad_v = grad_output * v**2, grad_output * 2 * u * v
        return grad_v, grad_u


op = Op(
    function=SwappedGradients,
    title="Swapped gradients",
    group="Specimens",
    forward=r"y = u v^2",
    backward=r"\mathrm{grad\_u} = \mathrm{grad\_output} \cdot 2 u v, \quad "
    r"\mathrm{grad\_v} = \mathrm{grad\_output} \cdot v^2",
    inputs=(Input("u", "the factor that counts once"), Input("v", "the factor that counts twice", value=1.5)),
    broken="The gradients are right but come back in the wrong order: u gets that of v, v gets that of u.",
    check="SWAPPED",
    wrt="u",
    reference="PyTorch documentation, Extending torch.autograd",
)
