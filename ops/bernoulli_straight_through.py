import torch

from .op import Input, Op, Parameter


class BernoulliStraightThrough(torch.autograd.Function):
    """Neurons that are on or off have no slope to learn from. This one tosses a coin, with the
    probability that its input says, and hands the gradient straight back.

    The probability is the sigmoid of x, and the neuron fires if a random number between 0 and 1 lies below
    it. For one toss the output is a step, whose place the toss has decided. `backward` passes `grad_output`
    straight through, which is the gradient of y = x.

    A derivative needs the same toss at x and beside it, otherwise it measures luck. So the toss follows
    from `seed` and is one for the whole tensor: move `seed` and the step moves. Only the average over all
    tosses, the sigmoid of x, has a slope of its own. That is never more than a quarter of what is returned
    here.
    """

    @staticmethod
    def forward(ctx, x, seed):
        toss = torch.rand((), dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
        return (toss.to(x.device, x.dtype) < torch.sigmoid(x)).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


def identity(x, seed):
    return x


op = Op(
    function=BernoulliStraightThrough,
    title="Straight-through Bernoulli",
    group="Straight-through and surrogates",
    forward=r"y = [u < \sigma(x)], \quad u \, \sim \, \mathrm{Uniform}(0, 1)",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output}",
    inputs=(Input("x", "the logit of the probability to fire"),),
    parameters=(Parameter("seed", 7, 0, 99, "which toss", kind="int"),),
    surrogate=identity,
    surrogate_formula=r"x",
    reference="Bengio, Léonard and Courville, Estimating or Propagating Gradients Through Stochastic Neurons, 2013",
)
