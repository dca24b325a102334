import torch

from .op import Input, Op, Parameter


def normalised(x, epsilon):
    centred = x - x.mean(dim=-1, keepdim=True)
    scale = torch.rsqrt((centred * centred).mean(dim=-1, keepdim=True) + epsilon)
    return centred * scale, scale


class LayerNorm(torch.autograd.Function):
    """Deep networks are easier to train if the numbers in them keep one scale. This layer gives every row
    mean 0 and variance 1, and its gradient knows of both.

    Mean and variance depend on all elements of the row, so the gradient of each reaches all. Two things do
    not change the output: adding a number to the whole row, and, apart from `epsilon`, multiplying it. So
    the gradient has no part in either direction. This is how `backward` finds it: it takes the mean of
    `grad_output` away, and then its part along the output.

    The page moves `x[0,0]`, and its own output runs from about −1.7 to 1.7 and no further. A single
    element that is far out makes the variance large as well. Drag `epsilon` up to see the curve flatten.
    """

    @staticmethod
    def forward(ctx, x, epsilon):
        ctx.epsilon = epsilon
        ctx.save_for_backward(x)
        return normalised(x, epsilon)[0]

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        y, scale = normalised(x, ctx.epsilon)
        along = (grad_output * y).mean(dim=-1, keepdim=True)
        return scale * (grad_output - grad_output.mean(dim=-1, keepdim=True) - y * along), None


op = Op(
    function=LayerNorm,
    title="Layer normalisation",
    group="Vectors and matrices",
    forward=r"y_{bi} = s_b \, (x_{bi} - \overline{x}_b), "
    r"\quad s_b = \frac{1}{\sqrt{\mathrm{var}(x_b) + \varepsilon}}",
    backward=r"\mathrm{grad\_x}_{bi} = s_b \, \left(g_{bi} - \overline{g}_b - y_{bi} \, \overline{(g y)}_b\right), "
    r"\quad g = \mathrm{grad\_output}",
    inputs=(Input("x", "a row of numbers", shape=(1, 4), value=(2.0, 1.0, 0.0, -0.5)),),
    parameters=(Parameter("epsilon", 0.001, 0.0001, 1.0, "keeps the variance away from 0"),),
    wrt="x[0,0]",
    of="y[0,0]",
    reference="Ba, Kiros and Hinton, Layer Normalization, 2016",
)
