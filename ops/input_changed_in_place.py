import torch

from .op import Input, Op


class InputChangedInPlace(torch.autograd.Function):
    """Working in place saves memory, and can give another part of the network a wrong gradient. A
    specimen: `forward` doubles its input and tells nobody.

    The output is 2x and its gradient is right. But the caller's own tensor has been doubled too, and autograd
    does not know: to it the tensor is still what went in. A loss that goes on to use that tensor gets the
    gradient 1 for it where 2 is right, since the doubling was never recorded.

    An operation in place is allowed if it is declared: `ctx.mark_dirty(x)`, and the tensor itself
    returned. If it need not be in place, `2 * x` is all there is to it.
    """

    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2


op = Op(
    function=InputChangedInPlace,
    title="Input changed in place",
    group="Specimens",
    forward=r"x \leftarrow 2 x, \quad y = x",
    backward=r"\mathrm{grad\_x} = 2 \cdot \mathrm{grad\_output}",
    inputs=(Input("x", "any number"),),
    broken="forward changes its input in place without mark_dirty: the caller's tensor changes, unknown to autograd.",
    check="DIRTY-MISSING",
    reference="PyTorch documentation, FunctionCtx.mark_dirty",
)
