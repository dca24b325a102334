import torch

from .op import Input, Op


class Float32Mask(torch.autograd.Function):
    """One forgotten cast, and a gradient in double precision keeps only seven digits. Nobody sees that,
    but it spoils what was meant to be exact. A specimen: a leaky ReLU.

    `.float()` turns the comparison into numbers, and always into float32. With double precision the slope
    0.1 is then 0.10000000149; autograd converts it back and says nothing.

    Nobody notices in float32, where most training happens. Look at the page in float64: the two curves lie
    on top of each other, and still the verdict finds the difference in the ninth decimal place. The fix:
    `.to(grad_output.dtype)`.
    """

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x > 0, x, 0.1 * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        positive = (x > 0).float()
        return grad_output.float() * (0.9 * positive + 0.1)


op = Op(
    function=Float32Mask,
    title="A mask in float32",
    group="Specimens",
    forward=r"y = x \text{ if } x > 0, \text{ else } 0.1 \, x",
    backward=r"\mathrm{grad\_x} = \mathrm{float32}(\mathrm{grad\_output}) \cdot (0.9 \, [x > 0] + 0.1)",
    inputs=(Input("x", "what is rectified"),),
    broken="The gradient is computed in float32 and loses half of the digits of a float64 input.",
    check="GRAD-DTYPE",
    reference="PyTorch documentation, torch.Tensor.float",
)
