import torch

from .op import Input, Op


class SinhOnCtx(torch.autograd.Function):
    """A gradient penalty through this Function loses a term, without a warning. A specimen: the hyperbolic
    sine, its first derivative right and its second silently 0.

    The gradient is right: the two curves on this page agree. But `forward` puts its intermediate results on
    `ctx` as plain attributes. Nothing is recorded while `forward` runs, so these tensors have no history,
    and to autograd they are constants.

    Ask for the second derivative and there is none. With `create_graph=True` the gradient comes back
    without a graph. `gradcheck` passes, and `gradgradcheck` reports 0 where sinh(x) should be. In a larger
    program that term is just missing.

    There are three ways out. Return the intermediates as outputs, as "Sinh" does. Save the input and
    compute them again in `backward`. Or decorate `backward` with `once_differentiable`, which forbids the
    question.
    """

    @staticmethod
    def forward(ctx, x):
        ctx.rising = torch.exp(x)
        ctx.falling = torch.exp(-x)
        return (ctx.rising - ctx.falling) / 2

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.rising + ctx.falling) / 2


op = Op(
    function=SinhOnCtx,
    title="Sinh with intermediates on ctx",
    group="Second derivatives",
    forward=r"y = \sinh \, x = \frac{e^x - e^{-x}}{2}",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot \frac{e^x + e^{-x}}{2}",
    inputs=(Input("x", "any number", domain=(-2.0, 2.0)),),
    broken="The second derivative is silently 0: the intermediates on ctx have no history.",
    check="SECOND-ORDER",
    reference="PyTorch tutorials, Double Backward with Custom Functions, 2021",
)
