import numpy as np
import torch
from torch.autograd.function import once_differentiable

from .op import Input, Op


def lambert_w(x):
    """The w ≥ −1 with w·eʷ = x, by Halley's method; not a number below −1/e."""
    with np.errstate(all="ignore"):
        w = np.where(x < 1, np.sqrt(np.maximum(2 * np.e * x + 2, 0)) - 1, np.log1p(x))
        for _ in range(12):
            off = w - x * np.exp(-w)
            w = w - off / np.maximum(w + 1 - (w + 2) * off / (2 * w + 2), 1e-300)
        return np.where(x * np.e < -1, np.nan, w)


class LambertW(torch.autograd.Function):
    """Some functions are known only as the answer to an equation, here w·eʷ = x. Their gradient can be had
    from the answer alone, whatever way led to it.

    No formula gives w, but a few steps of Halley's method do, here in NumPy. The gradient needs neither
    the steps nor their history: differentiate the equation on both sides, and the slope is
    1/((1 + w) eʷ).

    There is no real answer below −1/e = −0.37. The curve begins there with a vertical tangent, so move the
    range to the left and watch the gradient grow without bound towards that edge.
    """

    @staticmethod
    def forward(ctx, x):
        w = torch.as_tensor(lambert_w(x.detach().cpu().double().numpy())).to(x)
        ctx.save_for_backward(w)
        return w

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (w,) = ctx.saved_tensors
        return grad_output * torch.exp(-w) / (1 + w)


op = Op(
    function=LambertW,
    title="Lambert W in NumPy",
    group="NumPy and other code autograd cannot see",
    forward=r"w \, e^w = x",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot \frac{e^{-w}}{1 + w}",
    inputs=(Input("x", "not below −1/e", domain=(-0.3, 4.0)),),
    outputs=("w",),
    reference="Corless, Gonnet, Hare, Jeffrey and Knuth, On the Lambert W Function, 1996",
)
