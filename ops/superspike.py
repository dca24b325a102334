import torch

from .op import Descent, Input, Op, Parameter


class SuperSpike(torch.autograd.Function):
    """A spiking network asks for a surrogate slope at every neuron and every step of time. So it should
    be cheap: here it takes no exponential and one division.

    `backward` returns `grad_output` times 1/(1 + α|x|)², a cusp of height 1 at the threshold. It is the slope
    of the fast sigmoid x/(1 + α|x|), the dotted curve.

    The height is 1 whatever `alpha` is; only the width changes. So the dotted curve does not rise by 1
    like the step but by 2/`alpha` in all, 0.2 at first. A network trained in this way sees its spikes as
    much smaller than they are. That is no mistake, because the learning rate makes up for it, but it
    matters when surrogates are compared.
    """

    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        ctx.save_for_backward(x)
        return (x >= 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output / (1 + ctx.alpha * x.abs()) ** 2, None


def fast_sigmoid(x, alpha):
    return x / (1 + alpha * x.abs())


op = Op(
    function=SuperSpike,
    title="SuperSpike",
    group="Straight-through and surrogates",
    forward=r"y = [x \ge 0]",
    backward=r"\mathrm{grad\_x} = \frac{\mathrm{grad\_output}}{(1 + \alpha \left|x\right|)^2}",
    inputs=(Input("x", "potential above the threshold"),),
    parameters=(Parameter("alpha", 10.0, 1.0, 100.0, "how fast the gradient falls off"),),
    surrogate=fast_sigmoid,
    surrogate_formula=r"\frac{x}{1 + \alpha \left|x\right|}",
    descent=Descent(goal=1.0, lr=5.0, steps=24, at=-0.5),
    reference="Zenke and Ganguli, SuperSpike: Supervised Learning in Multilayer Spiking Neural Networks, 2018",
)
