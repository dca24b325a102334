import torch

from .op import Input, Op, Parameter


class StochasticRound(torch.autograd.Function):
    """In low precision, small updates are rounded away, each and every time. Round up or down by chance,
    and the average is right.

    2.3 becomes 3 in three cases of ten and 2 in the others, so the mean of many roundings is 2.3. The mean
    therefore is y = x, with slope 1, and `backward` returns exactly that. Here the straight-through
    estimator is no pretence but the derivative of the expected output.

    One single rounding is a staircase as always. Its steps lie where the random number u has put them, and
    as u follows from `seed`, forward gives the same staircase each time. Move `seed` and the stairs shift
    sideways under the dotted line, never by more than one step. One draw serves the whole tensor here; in
    training each element gets its own.
    """

    @staticmethod
    def forward(ctx, x, seed):
        u = torch.rand((), dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
        return (x + u.to(x.device, x.dtype)).floor()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


def identity(x, seed):
    return x


op = Op(
    function=StochasticRound,
    title="Stochastic round",
    group="Quantisers",
    forward=r"y = \lfloor x + u \rfloor, \quad u \, \sim \, \mathrm{Uniform}(0, 1)",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output}",
    inputs=(Input("x", "what is rounded"),),
    parameters=(Parameter("seed", 7, 0, 99, "which random number", kind="int"),),
    surrogate=identity,
    surrogate_formula=r"x",
    reference="Gupta, Agrawal, Gopalakrishnan and Narayanan, Deep Learning with Limited Numerical Precision, 2015",
)
