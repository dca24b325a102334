import torch

from .op import Descent, Input, Op, Parameter, slope_of_clamp


class ClippedReLU(torch.autograd.Function):
    """Low precision holds only numbers of a limited range, so a network that has to run in few bits gets a
    ReLU with a ceiling. With `clip` at 6 it is known as ReLU6.

    The output is 0 for negative inputs, follows the input up to `clip`, and stays there.

    The slope is 1 on the slanted piece and 0 on the two flat ones. So `backward` multiplies `grad_output`
    by a mask of ones and zeros. At the two kinks, 0 and `clip`, the strict comparisons choose 0. Any number
    from 0 to 1 lies between the left and the right slope there, and is a subgradient.

    Drag `clip` and watch the window through which gradient flows. An input outside of it learns nothing,
    whatever the size or the sign of `grad_output`.
    """

    @staticmethod
    def forward(ctx, input, clip):
        ctx.clip = clip
        ctx.save_for_backward(input)
        return input.clamp(0, clip)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        mask = (input > 0) & (input < ctx.clip)
        return grad_output * mask, None


op = Op(
    function=ClippedReLU,
    title="Clipped ReLU",
    group="Clamps and ReLUs",
    forward=r"y = \min(\max(0, \mathrm{input}), \mathrm{clip})",
    backward=r"\mathrm{grad\_input} = \mathrm{grad\_output} \cdot [0 < \mathrm{input} < \mathrm{clip}]",
    inputs=(Input("input", "what is clipped", domain=(-1.0, 3.0)),),
    parameters=(Parameter("clip", 2.0, 0.0, 3.0, "ceiling of the output"),),
    aside=lambda: f"At its bounds `torch.clamp` of the torch that runs here chooses {slope_of_clamp():g}.",
    descent=Descent(goal=1.0, lr=0.25, steps=12, at=3.0),
    reference="ApX Machine Learning, Advanced PyTorch, “Practice: Custom Autograd Functions”, 2025",
)
