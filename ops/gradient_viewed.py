import torch

from .op import Input, Op


class GradientViewed(torch.autograd.Function):
    """It passes its own tests and fails in somebody else's network, with an error about strides. A
    specimen: `backward` assumes that `grad_output` is contiguous.

    `view` gives a tensor another shape without touching it, and for that its numbers must lie side by
    side. Those of the gradient of a transposed or expanded output do not. After `y.t()` or a sum over
    rows, `view` raises an error about strides that seems to have nothing to do with this Function.

    Called alone with the usual tensors it always works. The fix: `reshape`, which copies where it has to.
    """

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (grad_output.view(-1) * 2 * x.reshape(-1)).reshape(x.shape)


op = Op(
    function=GradientViewed,
    title="A view of the gradient",
    group="Specimens",
    forward=r"y = x^2",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot 2 x",
    inputs=(Input("x", "a matrix", shape=(2, 3), value=(0.5, 1.0, -1.0, 2.0, -0.5, 1.5)),),
    broken="backward calls view on grad_output and fails where that is not contiguous.",
    check="GRADOUT-STRIDES",
    wrt="x[0,1]",
    of="y[0,1]",
    reference="PyTorch documentation, torch.Tensor.view",
)
