import torch

from .op import Descent, Input, Op, Parameter, slope_of_clamp


class ClampWithGradThatWorks(torch.autograd.Function):
    """Keep a value between two bounds, and say honestly that outside of them nothing changes. The gradient
    there is 0, the derivative of a clamp.

    Between `min` and `max` the output moves one for one with the input, so the slope is 1 and
    `grad_output` passes unchanged. Outside, the output stands still, so the slope is 0 and nothing passes.
    The mask says exactly this. `min` and `max` are numbers, not tensors, and get `None`.

    At each bound the curve has a kink: slope 0 on one side, slope 1 on the other. Any number between the
    two is a right answer. This mask compares with `>=` and `<=` and so answers 1.

    Compare it with "Clamp with grad", whose forward curve is the same. Flip the sign of `grad_output`: here
    the gradient only changes its sign, there it changes its shape.
    """

    @staticmethod
    def forward(ctx, input, min, max):
        ctx.min = min
        ctx.max = max
        ctx.save_for_backward(input)
        return input.clamp(min, max)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        inside = input.ge(ctx.min) * input.le(ctx.max)
        return grad_output * inside, None, None


op = Op(
    function=ClampWithGradThatWorks,
    title="Clamp with grad that works",
    group="Clamps and ReLUs",
    forward=r"y = \min(\max(\mathrm{input}, \mathrm{min}), \mathrm{max})",
    backward=r"\mathrm{grad\_input} = \mathrm{grad\_output} \cdot [\mathrm{min} \le \mathrm{input} \le \mathrm{max}]",
    inputs=(Input("input", "what is clamped", value=-2.0),),
    parameters=(
        Parameter("min", -1.0, -3.0, 3.0, "lower bound", below="max"),
        Parameter("max", 1.0, -3.0, 3.0, "upper bound"),
    ),
    aside=lambda: f"`torch.clamp` of the torch that runs here answers {slope_of_clamp():g} at its bounds.",
    descent=Descent(goal=0.0, lr=0.25, steps=12, at=3.0),
    reference="PyTorch forums, “Customizing torch.autograd.Function”, 2022",
)
