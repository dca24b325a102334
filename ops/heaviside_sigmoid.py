import torch

from .op import Descent, Input, Op, Parameter


class HeavisideSigmoid(torch.autograd.Function):
    """Spiking neurons save energy: they send a pulse or nothing. But such a step has no slope to learn
    from, so the slope of a sigmoid stands in for it.

    A spiking neuron fires or stays silent: its output is 1 where the input reaches the threshold 0, and 0
    below. The derivative of this step is 0 on both sides, so gradient descent has nothing to follow.
    `backward` puts a smooth stand-in in its place, the slope of a sigmoid: a bell around the threshold.

    `alpha` sets how steep the sigmoid is. Drag it up: the dotted curve comes close to the step, but the
    bell grows high (its peak is `alpha`/4) and narrow. A neuron far from its threshold then learns
    nothing. Drag it down and gradient reaches far, at the price of a stand-in that hardly resembles the
    step.
    """

    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        ctx.save_for_backward(x)
        return (x >= 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        sigmoid = torch.sigmoid(ctx.alpha * x)
        return grad_output * ctx.alpha * sigmoid * (1 - sigmoid), None


def steep_sigmoid(x, alpha):
    return torch.sigmoid(alpha * x)


op = Op(
    function=HeavisideSigmoid,
    title="Heaviside with a sigmoid surrogate",
    group="Straight-through and surrogates",
    forward=r"y = [x \ge 0]",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot \alpha \, \sigma(\alpha x) \, (1 - \sigma(\alpha x))",
    inputs=(Input("x", "potential above the threshold", domain=(-2.0, 2.0)),),
    parameters=(Parameter("alpha", 4.0, 0.5, 20.0, "steepness of the sigmoid"),),
    surrogate=steep_sigmoid,
    surrogate_formula=r"\sigma(\alpha x)",
    descent=Descent(goal=1.0, lr=1.0, steps=12, at=-1.0),
    reference="Neftci, Mostafa and Zenke, Surrogate Gradient Learning in Spiking Neural Networks, 2019",
)
