import torch

from .op import Input, Op


class HardSwish(torch.autograd.Function):
    """On a phone an exponential is expensive. This is swish in three pieces that any small processor can
    compute.

    The sigmoid is replaced by a straight ramp from −3 to 3. So the curve is 0 on the left, a parabola in
    the middle and x on the right. Its gradient is 0, a straight line and 1.

    Look at ±3. The curve seems smooth there but the gradient jumps: from 0 to −0.5 at −3, and from 1.5 to 1
    at 3. Both points are kinks. This code answers with the slope of the parabola, and any number between the
    two slopes would be as good.
    """

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * (x + 3).clamp(0, 6) / 6

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        slope = torch.where(x.abs() <= 3, x / 3 + 0.5, (x > 0).to(x.dtype))
        return grad_output * slope


op = Op(
    function=HardSwish,
    title="Hard swish",
    group="Activations",
    forward=r"y = x \cdot \frac{\min(\max(x + 3, 0), 6)}{6}",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot \left(\frac{x}{3} + \frac{1}{2}\right) "
    r"\text{ if } \left|x\right| \le 3, \text{ else } \mathrm{grad\_output} \cdot [x > 0]",
    inputs=(Input("x", "any number", domain=(-5.0, 5.0)),),
    reference="Howard et al., Searching for MobileNetV3, 2019",
)
