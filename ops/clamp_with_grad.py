import torch

from .op import Descent, Input, Op, Parameter


class ClampWithGrad(torch.autograd.Function):
    """Clamping kills the gradient of a value that has drifted out. This clamp lets it through where a
    step, which goes against it, would pull the value back in: from above if `grad_output` is positive.

    `torch.clamp` is flat outside its bounds: a value that has left the range gets gradient 0. This
    backward asks one question more: would a descent step move the input back towards the range? If so the
    gradient passes, otherwise it is stopped. A step goes against the gradient. A positive `grad_output`
    moves the input down, so it helps above `max`; a negative one moves it up, so it helps below `min`.

    The answer depends on the sign of `grad_output`, so no single function has this gradient. For a
    positive `grad_output` it is the gradient of max(input, min), for a negative one that of
    min(input, max). Flip the sign and watch the dotted curve change sides.
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
        outside = input - input.clamp(ctx.min, ctx.max)
        return grad_output * (grad_output * outside >= 0), None, None


def one_sided_clamp(input, min, max, grad_output):
    # With bounds the wrong way round, torch.clamp is the constant max.
    lower = min if min < max else max
    return input.clamp(min=lower) if grad_output > 0 else input.clamp(max=max)


op = Op(
    function=ClampWithGrad,
    title="Clamp with grad",
    group="Clamps and ReLUs",
    forward=r"y = \min(\max(\mathrm{input}, \mathrm{min}), \mathrm{max})",
    backward=r"\mathrm{grad\_input} = \mathrm{grad\_output} "
    r"\cdot [\mathrm{grad\_output} \cdot (\mathrm{input} - y) \ge 0]",
    inputs=(Input("input", "what is clamped", value=-2.0),),
    parameters=(
        Parameter("min", -1.0, -3.0, 3.0, "lower bound", below="max"),
        Parameter("max", 1.0, -3.0, 3.0, "upper bound"),
    ),
    surrogate=one_sided_clamp,
    surrogate_formula=r"\max(\mathrm{input}, \mathrm{min}) \text{ if } \mathrm{grad\_output} > 0, "
    r"\text{ else } \min(\mathrm{input}, \mathrm{max})",
    descent=Descent(goal=0.0, lr=0.25, steps=12, at=3.0),
    reference="Katherine Crowson, VQGAN+CLIP, 2021",
)
