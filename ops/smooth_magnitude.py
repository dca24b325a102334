import torch

from .op import Input, Op, Parameter


class SmoothMagnitude(torch.autograd.Function):
    """Many losses are lengths, and a length has no gradient at 0. Rounded off at the origin it has one
    everywhere.

    The length √(x² + y²) has a sharp point at the origin, where no gradient is right. Adding a `softness`
    below the root, and taking it away again outside, turns the cone into a bowl. At the origin the value
    is still 0, and the slope is 0. Far out it is the length minus a constant.

    Drag `softness`. With 0.01 the curve is nearly a V and its slope turns over almost at once; with 2 it is
    a wide bowl. `forward` saves only its inputs and `backward` computes the root again, so that a second
    derivative comes out right as well.
    """

    @staticmethod
    def forward(ctx, x, y, softness):
        ctx.softness = softness
        ctx.save_for_backward(x, y)
        return torch.sqrt(x**2 + y**2 + softness**2) - softness

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        root = torch.sqrt(x**2 + y**2 + ctx.softness**2)
        return grad_output * x / root, grad_output * y / root, None


op = Op(
    function=SmoothMagnitude,
    title="Smooth magnitude",
    group="Several inputs and outputs",
    forward=r"m = \sqrt{x^2 + y^2 + b^2} - b, \quad b = \mathrm{softness}",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot \frac{x}{m + b}, \quad "
    r"\mathrm{grad\_y} = \mathrm{grad\_output} \cdot \frac{y}{m + b}",
    inputs=(Input("x", "real part"), Input("y", "imaginary part", value=0.0)),
    parameters=(Parameter("softness", 0.5, 0.01, 2.0, "how round the tip is"),),
    outputs=("m",),
    wrt="x",
    reference="Cotter and Kingsbury, A Learnable ScatterNet: Locally Invariant Convolutional Layers, 2019",
)
