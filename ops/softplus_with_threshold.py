import torch

from .op import Input, Op, Parameter


class SoftplusWithThreshold(torch.autograd.Function):
    """A variance or a rate has to be positive. Softplus is a smooth way to make it so, and goes on
    straight beyond a threshold, before the exponential overflows.

    The logarithm of 1 + eˣ is nearly 0 on the left and nearly x on the right. Its derivative is the sigmoid.
    For large x the exponential would overflow, so above `threshold` the function is replaced by x and its
    derivative by 1.

    The replacement leaves a small gap. Set `threshold` to 2 and a jump of 0.13 appears in the forward
    curve, and a step in the gradient. At 20, the value that PyTorch uses, the jump is smaller than 10⁻⁸. A
    jump is not the fault of `backward`, so the page marks it and goes on.
    """

    @staticmethod
    def forward(ctx, x, threshold):
        ctx.threshold = threshold
        ctx.save_for_backward(x)
        return torch.where(x > threshold, x, torch.log1p(torch.exp(x)))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > ctx.threshold, grad_output, grad_output * torch.sigmoid(x)), None


op = Op(
    function=SoftplusWithThreshold,
    title="Softplus with a threshold",
    group="Activations",
    forward=r"y = \log(1 + e^x) \text{ if } x \le \mathrm{threshold}, \text{ else } x",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot \sigma(x) "
    r"\text{ if } x \le \mathrm{threshold}, \text{ else } \mathrm{grad\_output}",
    inputs=(Input("x", "any number", domain=(-8.0, 8.0)),),
    parameters=(Parameter("threshold", 4.0, 2.0, 20.0, "above it the function is x"),),
    reference="Dugas, Bengio, Bélisle, Nadeau and Garcia, Incorporating Second-Order Functional Knowledge for Better "
    "Option Pricing, 2001",
)
