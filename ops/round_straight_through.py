import torch

from .op import Descent, Input, Op


class RoundStraightThrough(torch.autograd.Function):
    """A network whose weights are rounded could not learn, because the slope of rounding is 0. The
    straight-through estimator rounds forward, and backward pretends that nothing was rounded.

    A staircase is flat on every step and jumps between them. Its derivative is 0 wherever there is one, and
    with it nothing that comes before the rounding could ever learn. The straight-through estimator returns
    `grad_output` as it is, which is the gradient of y = x, the dotted line that runs through the stairs.

    The pretence is a mild one: the staircase is never farther than a half from that line. Networks with
    quantised weights are trained this way. But it is not the derivative: the numerical curve is 0, and the
    two agree only at a `grad_output` of 0.

    Mind the jumps at ±0.5 and ±1.5. A difference taken across a jump is as large as the step is small, so
    it measures nothing; the page leaves a gap. PyTorch rounds a half to the even neighbour: 0.5 goes to 0,
    1.5 goes to 2.
    """

    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


def identity(x):
    return x


op = Op(
    function=RoundStraightThrough,
    title="Straight-through round",
    group="Straight-through and surrogates",
    forward=r"y = \mathrm{round}(x)",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output}",
    inputs=(Input("x", "what is rounded", domain=(-2.0, 2.0)),),
    surrogate=identity,
    surrogate_formula=r"x",
    descent=Descent(goal=-1.0, lr=0.125, steps=12, at=1.75),
    reference="Bengio, Léonard and Courville, Estimating or Propagating Gradients Through Stochastic Neurons, 2013",
)
