import torch

from .op import Input, Op, Parameter


class LearnedStepSize(torch.autograd.Function):
    """How coarse should the steps of a quantised weight be? Instead of guessing, this quantiser learns
    the height of its own steps.

    `x` is measured in steps, rounded, and held between the levels `low` and `high`. For `x` the backward is a
    window: `grad_output` passes inside the range and is stopped outside, as for a clamp, the dotted curve.

    The other gradient is what is new. Sweep `step_size`: inside the range `backward` returns how far the
    rounding has moved the input, in steps. Outside it returns the level at which the input was held. It is
    found by treating the rounding as if it were not there; the paper then scales it by the number of
    weights.

    Forward itself rises more steeply in `step_size` and falls back at its jumps; the dotted curve is what
    rises as `backward` says. No function at all has both of these gradients, so each input has its own.
    """

    @staticmethod
    def forward(ctx, x, step_size, low, high):
        ctx.low, ctx.high = low, high
        ctx.save_for_backward(x, step_size)
        return (x / step_size).clamp(low, high).round() * step_size

    @staticmethod
    def backward(ctx, grad_output):
        x, step_size = ctx.saved_tensors
        steps = x / step_size
        inside = (steps >= ctx.low) & (steps <= ctx.high)
        grad_step = torch.where(inside, steps.round() - steps, steps.clamp(ctx.low, ctx.high))
        return grad_output * inside, (grad_output * grad_step).sum_to_size(step_size.shape), None, None


# No function has both of these gradients: this is the one whose slope in the input `wrt` is returned.
def clamp_or_sum(x, step_size, low, high, wrt):
    if wrt == "x":
        return torch.clamp(x, low * step_size, high * step_size)
    sign, size = torch.sign(step_size), step_size.abs()
    above, below = (sign * x).clamp(min=0), (-sign * x).clamp(min=0)
    return sign * (sum_of_levels(above, size, high) - sum_of_levels(below, size, -low))


def sum_of_levels(x, step_size, level):
    # The integral of round(x / step_size) - x / step_size, and of `level` where x lies beyond it.
    reached = sum(torch.minimum(step_size, x / (each - 0.5)) for each in range(1, level + 1))
    return reached - x * torch.log(torch.maximum(step_size, x / (level or 1e-9)))


op = Op(
    function=LearnedStepSize,
    title="Learned step size",
    group="Quantisers",
    forward=r"y = s \cdot \mathrm{round}(\min(\max(x / s, \mathrm{low}), \mathrm{high})), "
    r"\quad s = \mathrm{step\_size}",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot [\mathrm{low} \le x / s \le \mathrm{high}], \quad "
    r"\mathrm{grad\_step\_size} = \mathrm{grad\_output} \cdot "
    r"d, \quad d = \mathrm{round}(x / s) - x / s \text{ inside, else the level}",
    inputs=(
        Input("x", "what is quantised", value=1.2),
        Input("step_size", "the distance of two levels, learned", domain=(0.2, 2.0), value=0.5),
    ),
    parameters=(
        Parameter("low", -4, -8, 0, "lowest level", kind="int"),
        Parameter("high", 3, 1, 8, "highest level", kind="int"),
    ),
    surrogate=clamp_or_sum,
    surrogate_formula=r"\min(\max(x, \mathrm{low} \cdot s), \mathrm{high} \cdot s) \text{ in } x, \quad "
    r"\int d \, \mathrm{d}s \text{ in } s",
    wrt="x",
    reference="Esser, McKinstry, Bablani, Appuswamy and Modha, Learned Step Size Quantization, 2020",
)
