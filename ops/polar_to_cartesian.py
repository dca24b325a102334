import torch

from .op import Input, Op


class PolarToCartesian(torch.autograd.Function):
    """A direction is most easily said as an angle, and needed as a point in the plane. Two inputs, two
    outputs: `backward` has four slopes to bring together.

    `backward` is given one gradient for each output and returns one for each input. Together they say how
    far the wanted movement of the point lies along the ray and how far across it. Across, a small turn counts
    the more the longer the radius is.

    Sweep `theta` and watch `x`, then `y`: a cosine and a sine, their slopes a quarter of a turn ahead. Set `r`
    to 0 and both are flat: at the origin the angle has no effect, and no gradient can find it.
    """

    @staticmethod
    def forward(ctx, r, theta):
        ctx.save_for_backward(r, theta)
        return r * theta.cos(), r * theta.sin()

    @staticmethod
    def backward(ctx, grad_x, grad_y):
        r, theta = ctx.saved_tensors
        grad_r = grad_x * theta.cos() + grad_y * theta.sin()
        grad_theta = r * (grad_y * theta.cos() - grad_x * theta.sin())
        return grad_r, grad_theta


op = Op(
    function=PolarToCartesian,
    title="Polar to Cartesian",
    group="Several inputs and outputs",
    forward=r"x = r \, \cos \, \theta, \quad y = r \, \sin \, \theta",
    backward=r"\mathrm{grad\_r} = \mathrm{grad\_x} \cdot \cos \, \theta + \mathrm{grad\_y} \cdot \sin \, \theta, \quad "
    r"\mathrm{grad\_}\theta = r \, (\mathrm{grad\_y} \cdot \cos \, \theta - \mathrm{grad\_x} \cdot \sin \, \theta)",
    inputs=(
        Input("r", "the radius", value=2.0),
        Input("theta", "the angle in radians", domain=(-3.2, 3.2), value=0.5),
    ),
    outputs=("x", "y"),
    wrt="theta",
    of="x",
    reference="Folland, Advanced Calculus, 2002 (the Jacobian of polar coordinates)",
)
