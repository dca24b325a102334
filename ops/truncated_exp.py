import torch

from .op import Input, Op, Parameter


class TruncatedExp(torch.autograd.Function):
    """A density has to be positive, and an exponential makes it so. But its gradient is as large as
    itself, and one large input would drown all others; here it stops growing.

    `forward` is the plain exponential. `backward` returns the exponential of the input clamped to [−cap,
    cap].

    Between −`cap` and `cap` backward is the derivative of forward. Beyond, the gradient is that of the
    dotted curve, which goes on along its tangents. Drag `cap` to 6 and the two agree on the whole axis
    shown. A check whose inputs are never larger than the cap does not see any difference.
    """

    @staticmethod
    def forward(ctx, x, cap):
        ctx.cap = cap
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x.clamp(-ctx.cap, ctx.cap).exp(), None


def along_the_tangents(x, cap):
    inside = x.clamp(-cap, cap)
    return inside.exp() * (1 + x - inside)


op = Op(
    function=TruncatedExp,
    title="Truncated exponential",
    group="Activations",
    forward=r"y = e^x",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot e^{\min(\max(x, -\mathrm{cap}), \mathrm{cap})}",
    inputs=(Input("x", "the exponent", domain=(-6.0, 6.0)),),
    parameters=(Parameter("cap", 3.0, 1.0, 15.0, "where the gradient stops growing"),),
    surrogate=along_the_tangents,
    surrogate_formula=r"e^c \, (1 + x - c), \quad c = \min(\max(x, -\mathrm{cap}), \mathrm{cap})",
    reference="Müller, Evans, Schied and Keller, Instant Neural Graphics Primitives with a Multiresolution Hash "
    "Encoding, 2022; as in torch-ngp",
)
