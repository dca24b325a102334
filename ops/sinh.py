import torch

from .op import Input, Op


class Sinh(torch.autograd.Function):
    """What forward computes on the way, backward often needs again. Kept in the wrong place it costs the
    second derivative; here it is kept in the right one, among the outputs.

    `forward` computes two exponentials, one rising and one falling, and `backward` needs them again. They are
    neither inputs nor the result. Kept as attributes of `ctx` they would lose their history, and a second
    derivative would silently be lost with it. The remedy is to return them as further outputs: an output may
    be saved, and the graph knows how it depends on x.

    The price is a `backward` that is given three gradients, one for each output, and has to add up what each
    contributes. Those of outputs that nobody uses arrive as zeros.

    Look at `y` first, then at `rising` and `falling`: each has its own derivative with respect to x. In a
    program one would keep the first output and drop the others.
    """

    @staticmethod
    def forward(ctx, x):
        rising, falling = torch.exp(x), torch.exp(-x)
        ctx.save_for_backward(rising, falling)
        return (rising - falling) / 2, rising, falling

    @staticmethod
    def backward(ctx, grad_y, grad_rising, grad_falling):
        rising, falling = ctx.saved_tensors
        return grad_y * (rising + falling) / 2 + grad_rising * rising - grad_falling * falling


op = Op(
    function=Sinh,
    title="Sinh",
    group="Second derivatives",
    forward=r"y = \sinh \, x = \frac{e^x - e^{-x}}{2}, \quad \mathrm{rising} = e^x, \quad \mathrm{falling} = e^{-x}",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_y} \cdot \frac{e^x + e^{-x}}{2} "
    r"+ \mathrm{grad\_rising} \cdot e^x - \mathrm{grad\_falling} \cdot e^{-x}",
    inputs=(Input("x", "any number", domain=(-2.0, 2.0)),),
    outputs=("y", "rising", "falling"),
    of="y",
    reference="PyTorch tutorials, Double Backward with Custom Functions, 2021",
)
