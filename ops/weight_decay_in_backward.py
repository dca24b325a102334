import torch

from .op import Descent, Input, Op


class WeightDecayInBackward(torch.autograd.Function):
    """Scale up the loss, as training in half precision does, and this decay is too weak by that factor. A
    specimen: a pull towards zero, hidden in the gradient.

    `backward` adds 0.05 · x to what it was given, so that weights shrink a little with every step. But a
    gradient is `grad_output` times something: twice the loss, twice the gradient; no loss, no gradient.
    This one stays when `grad_output` is 0 and does not grow with the loss.

    Set `grad_output` to 0 and look at what is left. Weight decay belongs in the optimiser.
    """

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output + 0.05 * x


op = Op(
    function=WeightDecayInBackward,
    title="Weight decay in backward",
    group="Specimens",
    forward=r"y = x",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} + 0.05 \, x",
    inputs=(Input("x", "a weight"),),
    broken="backward adds a term that does not come from the loss: it is there even for a grad_output of 0.",
    check="NONLINEAR",
    descent=Descent(goal=2.0, lr=0.25, steps=40, at=0.0),
    reference="After Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2019",
)
