import numpy as np
import torch
from torch.autograd.function import once_differentiable

from .op import Input, Op

# The middles of equal parts of a quarter turn: Bessel's mean over them is right to the last places for |x| < 50.
SINES = np.sin(np.pi / 2 * (np.arange(24) + 0.5) / 24)


def j0(x):
    return np.cos(x[..., None] * SINES).mean(axis=-1)


def j1(x):
    return (SINES * np.sin(x[..., None] * SINES)).mean(axis=-1)


class BesselJ0(torch.autograd.Function):
    """Many functions exist only in numerical libraries that autograd cannot see into. Here NumPy computes
    the Bessel function J₀, how the skin of a drum swings, and `backward` states the derivative by hand.

    Friedrich Bessel wrote it as the mean of cos(x sin θ) over a quarter turn. Equidistant points find such a mean
    very precisely, because the integrand is periodic: 24 of them give all digits on this range. Autograd
    sees none of it, so `backward` has to know what the books say: the derivative of J₀ is −J₁.

    Look at the zeros of the orange and blue curve: there the forward curve has its hills and valleys. They
    become lower and lower, like the waves on a pond around the place where a stone fell in.
    """

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.as_tensor(j0(x.detach().cpu().double().numpy())).to(x)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -grad_output * torch.as_tensor(j1(x.detach().cpu().double().numpy())).to(x)


op = Op(
    function=BesselJ0,
    title="Bessel function J₀ in NumPy",
    group="NumPy and other code autograd cannot see",
    forward=r"y = J_0(x) = \frac{2}{\pi} \int_0^{\pi/2} \cos(x \, \sin \, \theta) \, d\theta",
    backward=r"\mathrm{grad\_x} = -\mathrm{grad\_output} \cdot J_1(x)",
    inputs=(Input("x", "distance from the middle", domain=(-12.0, 12.0)),),
    reference="Abramowitz and Stegun, Handbook of Mathematical Functions, chapter 9, 1964",
)
