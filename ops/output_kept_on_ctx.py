import torch

from .op import Input, Op


class OutputKeptOnCtx(torch.autograd.Function):
    """The memory of a training loop climbs, falls at odd moments and climbs again. A specimen: the
    exponential with its output kept on `ctx`, a circle that holds memory.

    The curves agree, because the gradient is right. But the output knows the node of the graph that made
    it, the node is `ctx`, and `ctx` now knows the output. Neither is freed when the last user lets go of
    them; they wait until Python's garbage collector comes round, which may be many batches later.

    With `ctx.save_for_backward(y)` torch knows of the circle and does not close it.
    """

    @staticmethod
    def forward(ctx, x):
        ctx.y = x.exp()
        return ctx.y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.y


op = Op(
    function=OutputKeptOnCtx,
    title="Output kept on ctx",
    group="Specimens",
    forward=r"y = e^x",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot y",
    inputs=(Input("x", "the exponent", domain=(-2.0, 2.0)),),
    broken="The output stands on ctx, which the output itself refers to: memory is freed late.",
    check="CTX-CYCLE",
    reference="PyTorch documentation, Extending torch.autograd",
)
