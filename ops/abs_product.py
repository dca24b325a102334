import torch

from .op import Input, Op


class AbsProduct(torch.autograd.Function):
    """Most Functions take several tensors. This one shows the rule for two: `backward` returns one
    gradient for each argument of `forward`, in the same order.

    By the chain rule the slope of |uv| is the sign of uv times the slope of uv. That is v when u moves, u
    when v moves. Both tensors are needed for this, so `forward` saves both.

    With `v` held at 2 the curve is a V with its corner at u = 0: slope −2 on the left, 2 on the right. The
    sign of 0 is 0, so `backward` answers with the middle of the two. So does the central difference, but
    only because the corner is symmetric. The agreement proves nothing there, and the kink is marked.

    Change `v` and the V opens or closes; at 0 it lies flat. A negative `v` gives the same curves as a
    positive one, since only its size matters.
    """

    @staticmethod
    def forward(ctx, u, v):
        ctx.save_for_backward(u, v)
        return (u * v).abs()

    @staticmethod
    def backward(ctx, grad_output):
        u, v = ctx.saved_tensors
        sign = (u * v).sign()
        return grad_output * sign * v, grad_output * sign * u


op = Op(
    function=AbsProduct,
    title="Absolute product |uv|",
    group="A first look",
    forward=r"y = |u v|",
    backward=r"\mathrm{grad\_u} = \mathrm{grad\_output} \cdot \mathrm{sign}(u v) \cdot v, \quad "
    r"\mathrm{grad\_v} = \mathrm{grad\_output} \cdot \mathrm{sign}(u v) \cdot u",
    inputs=(Input("u", "first factor"), Input("v", "second factor", value=2.0)),
    wrt="u",
    reference="François Fleuret, EE-559 Deep Learning, 5.7 Writing an autograd function, 2019",
)
