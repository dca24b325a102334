import torch

from .op import Input, Op


class ReplaceGrad(torch.autograd.Function):
    """Choosing the nearest entry of a codebook has no useful slope. So take the value of one tensor, the
    chosen entry, and give the gradient to another, the one that was looked up.

    `forward` returns `x_forward` and does not look at `x_backward` at all. `backward` does the opposite:
    it hands the whole of `grad_output` to `x_backward` (summed to its shape, if it was broadcast) and
    returns `None` for `x_forward`. The number comes from one tensor, the gradient goes to the other.

    VQGAN+CLIP replaces each piece of an image by the nearest entry of a codebook, a step that has no
    useful slope. Then it calls `replace_grad(nearest, piece)`. The network goes on with the entry, while
    the piece learns as if nothing had been replaced.

    On this page `x_backward` is swept. The forward curve is flat and its numerical gradient is 0, yet the
    analytical gradient is `grad_output`. That is the slope of the dotted line, which is `x_backward`
    itself. Sweep `x_forward` instead and the roles are swapped: the curve rises with slope 1 and no
    gradient comes back.
    """

    @staticmethod
    def forward(ctx, x_forward, x_backward):
        ctx.shape = x_backward.shape
        return x_forward

    @staticmethod
    def backward(ctx, grad_output):
        return None, grad_output.sum_to_size(ctx.shape)


def second_argument(x_forward, x_backward):
    return x_backward


op = Op(
    function=ReplaceGrad,
    title="Replace grad",
    group="Straight-through and surrogates",
    forward=r"y = \mathrm{x\_forward}",
    backward=r"\mathrm{grad\_x\_forward} = \mathrm{None}, \quad \mathrm{grad\_x\_backward} = \mathrm{grad\_output}",
    inputs=(Input("x_forward", "gives the value"), Input("x_backward", "gets the gradient")),
    surrogate=second_argument,
    surrogate_formula=r"\mathrm{x\_backward}",
    wrt="x_backward",
    reference="Katherine Crowson, VQGAN+CLIP, 2021",
)
