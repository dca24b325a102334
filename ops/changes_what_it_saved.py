import torch

from .op import Input, Op


class ChangesWhatItSaved(torch.autograd.Function):
    """Two losses share this layer, and the second gets a wrong gradient without an error. A specimen:
    `backward` overwrites what `forward` kept for it.

    The first time everything is right. But the exponential on `ctx` is multiplied in place. A second
    backward through the same graph, with `retain_graph=True`, starts from the product of the first.

    Had the tensor been saved by `save_for_backward`, torch would have noticed the change and refused.
    Nobody watches over an attribute of `ctx`. The fix: `*` instead of `mul_`.
    """

    @staticmethod
    def forward(ctx, x):
        ctx.e = x.exp()
        return ctx.e.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.e.mul_(grad_output)


op = Op(
    function=ChangesWhatItSaved,
    title="Changes what it saved",
    group="Specimens",
    forward=r"y = e^x",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot e^x, \text{ the first time}",
    inputs=(Input("x", "the exponent", domain=(-2.0, 2.0)),),
    broken="backward multiplies in place what forward kept: a second backward gives a different gradient.",
    check="BWD-REPEAT",
    reference="PyTorch documentation, Extending torch.autograd",
)
